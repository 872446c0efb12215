//! Both read the same from every field.

use sev::firmware::guest::Version;
use sev::firmware::host::TcbVersion as TheirTcb;

use super::*;

/// Every number and byte string, in the order of the report.
fn agree(ours: &Report, theirs: &AttestationReport, name: &str) {
    assert_eq!(ours.version, theirs.version, "{name}");
    assert_eq!(ours.guest_svn, theirs.guest_svn, "{name}");
    assert_eq!(ours.policy.0, theirs.policy.0, "{name}");
    assert_eq!(ours.family_id.0, theirs.family_id, "{name}");
    assert_eq!(ours.image_id.0, theirs.image_id, "{name}");
    assert_eq!(ours.vmpl, theirs.vmpl, "{name}");
    assert_eq!(1, theirs.sig_algo, "{name}");
    assert_eq!(parts(ours.current_tcb), their_parts(theirs.current_tcb));
    assert_eq!(ours.platform.0, theirs.plat_info.0, "{name}");
    assert_eq!(
        (ours.author_key, ours.masked_chip_key),
        (
            theirs.key_info.author_key_en(),
            theirs.key_info.mask_chip_key()
        ),
        "{name}"
    );
    let key = match ours.signing_key {
        SigningKey::Vcek => 0,
        SigningKey::Vlek => 1,
    };
    assert_eq!(key, theirs.key_info.signing_key(), "{name}");
    assert_eq!(ours.report_data.0, theirs.report_data, "{name}");
    assert_eq!(ours.measurement.0, theirs.measurement, "{name}");
    assert_eq!(ours.host_data.0, theirs.host_data, "{name}");
    assert_eq!(ours.id_key_digest.0, theirs.id_key_digest, "{name}");
    assert_eq!(ours.author_key_digest.0, theirs.author_key_digest, "{name}");
    assert_eq!(ours.report_id.0, theirs.report_id, "{name}");
    assert_eq!(ours.report_id_ma.0, theirs.report_id_ma, "{name}");
    assert_eq!(parts(ours.reported_tcb), their_parts(theirs.reported_tcb));
    let cpu = (theirs.cpuid_fam_id)
        .zip(theirs.cpuid_mod_id)
        .zip(theirs.cpuid_step);
    assert_eq!(
        ours.cpu,
        cpu.map(|((family, model), step)| (family, model, step)),
        "{name}"
    );
    assert_eq!(ours.chip_id.0, theirs.chip_id, "{name}");
    assert_eq!(parts(ours.committed_tcb), their_parts(theirs.committed_tcb));
    let version = |one: Version| (one.major, one.minor, one.build);
    assert_eq!(ours.current_firmware, version(theirs.current), "{name}");
    assert_eq!(ours.committed_firmware, version(theirs.committed), "{name}");
    assert_eq!(parts(ours.launch_tcb), their_parts(theirs.launch_tcb));
    assert_eq!(ours.launch_mitigations, theirs.launch_mit_vector, "{name}");
    assert_eq!(
        ours.current_mitigations, theirs.current_mit_vector,
        "{name}"
    );
    bits_agree(ours, theirs, name);
}

fn parts(ours: TcbVersion) -> (Option<u8>, [u8; 4]) {
    let levels = [ours.boot_loader, ours.tee, ours.snp, ours.microcode];
    (ours.fmc, levels)
}

fn their_parts(theirs: TheirTcb) -> (Option<u8>, [u8; 4]) {
    let levels = [theirs.bootloader, theirs.tee, theirs.snp, theirs.microcode];
    (theirs.fmc, levels)
}

/// The names of bits.
fn bits_agree(ours: &Report, theirs: &AttestationReport, name: &str) {
    let (policy, their_policy) = (ours.policy, theirs.policy);
    let abi = (policy.abi().major.into(), policy.abi().minor.into());
    let their_abi = (their_policy.abi_major(), their_policy.abi_minor());
    assert_eq!(abi, their_abi, "{name}");
    let (platform, their_platform) = (ours.platform, theirs.plat_info);
    for (bit, ours, theirs) in [
        ("smt allowed", policy.smt(), their_policy.smt_allowed()),
        (
            "migration",
            policy.migrate_ma(),
            their_policy.migrate_ma_allowed(),
        ),
        ("debug", policy.debug(), their_policy.debug_allowed()),
        (
            "socket",
            policy.single_socket(),
            their_policy.single_socket_required(),
        ),
        ("cxl", policy.cxl_allowed(), their_policy.cxl_allowed()),
        ("xts", policy.aes_256_xts(), their_policy.mem_aes_256_xts()),
        ("rapl", policy.rapl_disabled(), their_policy.rapl_dis()),
        (
            "hiding",
            policy.ciphertext_hiding(),
            their_policy.ciphertext_hiding(),
        ),
        (
            "swap",
            policy.page_swap_disabled(),
            their_policy.page_swap_disabled(),
        ),
        ("smt on", platform.smt(), their_platform.smt_enabled()),
        ("tsme", platform.tsme(), their_platform.tsme_enabled()),
        ("ecc", platform.ecc(), their_platform.ecc_enabled()),
        (
            "rapl off",
            platform.rapl_disabled(),
            their_platform.rapl_disabled(),
        ),
        (
            "hidden",
            platform.ciphertext_hiding(),
            their_platform.ciphertext_hiding_enabled(),
        ),
        (
            "aliases",
            platform.alias_check(),
            their_platform.alias_check_complete(),
        ),
    ] {
        assert_eq!(ours, theirs, "{name}: {bit}");
    }
}

fn ours(evidence: &Evidence, stapled: &Endorsements, roots: &TrustRoots) -> Report {
    match verify_any(evidence, stapled, roots, NOW) {
        Ok(crate::hardware::Authentic::SevSnp(found)) => found.report().clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn of_real_reports() {
    if folder().is_none() {
        return;
    }
    let roots = TrustRoots::vendors();
    for vector in &REAL {
        let evidence = vector.evidence();
        let ours = ours(&evidence, &vector.endorsements(), &roots);
        agree(&ours, &theirs(&evidence.body).unwrap(), vector.report);
    }
}

/// Real reports leave much at zero. Here every field has bytes of its own, and every bit that has a name is on once
/// and off once.
#[test]
fn of_reports_that_leave_nothing_out() {
    let pairs =
        Product::ALL.map(|product| [SigningKey::Vcek, SigningKey::Vlek].map(|k| (product, k)));
    for (product, key) in pairs.into_iter().flatten() {
        for (version, salt) in [(3, 1), (4, 2), (5, 3), (5, 0x55), (5, 0xaa)] {
            let mut case = Case::new(product, key);
            fill(&mut case.platform.report, product, salt);
            if version < 5 {
                case.platform.report.put(at::LAUNCH_MITIGATIONS, &[0; 16]);
            }
            case.platform.report.put(at::VERSION, &[version]);
            let (evidence, stapled) = case.made();
            let name = format!("{product} {key} version {version}, {salt:#x}");
            let found = verdicts(&evidence, &stapled, &case.roots);
            assert_eq!(found, (true, true), "{name}");
            let ours = ours(&evidence, &stapled, &case.roots);
            agree(&ours, &theirs(&evidence.body).unwrap(), &name);
        }
    }
}

/// All but what the certificate states, what must be zero, and the version.
fn fill(report: &mut mock::Draft, product: Product, salt: u8) {
    // Salts of alternating bits fill bit fields alternately.
    let byte = |at: usize| match salt {
        0x55 | 0xaa => salt,
        salt => (at as u8).wrapping_mul(7).wrapping_add(salt),
    };
    let whole = [
        at::GUEST_SVN..at::ALGORITHM,
        at::PLATFORM..at::FLAGS,
        at::REPORT_DATA..at::REPORTED_TCB,
        at::CPU + 2..at::CPU + 3,
        at::CURRENT_FIRMWARE..at::CURRENT_FIRMWARE + 3,
        at::COMMITTED_FIRMWARE..at::COMMITTED_FIRMWARE + 3,
        at::LAUNCH_MITIGATIONS..at::CURRENT_MITIGATIONS + 8,
    ];
    let used: &[usize] = match product {
        Product::Milan | Product::Genoa => &[0, 1, 6, 7],
        Product::Turin => &[0, 1, 2, 3, 7],
    };
    let tcbs = [at::CURRENT_TCB, at::COMMITTED_TCB, at::LAUNCH_TCB];
    let parts = tcbs.iter().flat_map(|at| used.iter().map(move |i| at + i));
    for place in whole.into_iter().flatten().chain(parts) {
        report.put(place, &[byte(place)]);
    }
    let flags = report.bytes()[at::FLAGS];
    report.put(at::FLAGS, &[flags | salt & 1]);
}
