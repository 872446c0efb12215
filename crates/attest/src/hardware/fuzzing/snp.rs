//! Reports.

use crate::hardware::snp::mock::at;
use crate::hardware::snp::report::Raw;
use crate::hardware::snp::{Product, Report, SigningKey, TcbVersion};

const SIGNED: usize = 0x2a0;

/// A report is written again from its fields, each byte of the signed part; the signature is where the ABI has it, and
/// all else is zero. So no byte is left that nobody looks at.
pub fn snp_report(bytes: &[u8]) -> bool {
    let Ok(raw) = Raw::new(bytes) else {
        return false;
    };
    let (signed, signature) = bytes.split_at(SIGNED);
    assert_eq!(raw.signed(), signed);
    let big_endian = raw.signature();
    let (r, s) = big_endian.split_at(48);
    let little = |half: &[u8]| half.iter().rev().copied().collect::<Vec<u8>>();
    let written = [&little(r)[..], &[0; 24], &little(s), &[0; 24], &[0; 368]].concat();
    assert_eq!(written, signature);

    let (mut read, mut named) = (false, 0);
    for product in Product::ALL {
        if let Ok(report) = Report::parse(&raw, product) {
            assert_eq!(write(&report, product), signed, "{product}");
            read = true;
            named += usize::from(report.cpu.is_some());
            // Version 2 leaves the generation to the certificate.
            assert_eq!(report.cpu.is_some(), report.version >= 3);
        }
    }
    assert!(named <= 1, "one CPU is of {named} generations");
    read
}

fn write(report: &Report, product: Product) -> Vec<u8> {
    let mut out = vec![0; SIGNED];
    let mut put = |at: usize, bytes: &[u8]| {
        out.iter_mut()
            .skip(at)
            .zip(bytes)
            .for_each(|(to, from)| *to = *from);
    };
    let key = match report.signing_key {
        SigningKey::Vcek => 0,
        SigningKey::Vlek => 1 << 2,
    };
    let flags = u8::from(report.author_key) | u8::from(report.masked_chip_key) << 1 | key;
    put(at::VERSION, &report.version.to_le_bytes());
    put(at::GUEST_SVN, &report.guest_svn.to_le_bytes());
    put(at::POLICY, &report.policy.0.to_le_bytes());
    put(at::FAMILY_ID, &report.family_id.0);
    put(at::IMAGE_ID, &report.image_id.0);
    put(at::VMPL, &report.vmpl.to_le_bytes());
    put(at::ALGORITHM, &[1]);
    put(at::PLATFORM, &report.platform.0.to_le_bytes());
    put(at::FLAGS, &[flags]);
    put(at::REPORT_DATA, &report.report_data.0);
    put(at::MEASUREMENT, &report.measurement.0);
    put(at::HOST_DATA, &report.host_data.0);
    put(at::ID_KEY, &report.id_key_digest.0);
    put(at::AUTHOR_KEY, &report.author_key_digest.0);
    put(at::REPORT_ID, &report.report_id.0);
    put(at::MIGRATION_AGENT, &report.report_id_ma.0);
    put(at::CHIP_ID, &report.chip_id.0);
    for (at, tcb) in [
        (at::CURRENT_TCB, report.current_tcb),
        (at::REPORTED_TCB, report.reported_tcb),
        (at::COMMITTED_TCB, report.committed_tcb),
        (at::LAUNCH_TCB, report.launch_tcb),
    ] {
        put(at, &levels(tcb, product));
    }
    for (at, (major, minor, build)) in [
        (at::CURRENT_FIRMWARE, report.current_firmware),
        (at::COMMITTED_FIRMWARE, report.committed_firmware),
    ] {
        put(at, &[build, minor, major]);
    }
    if let Some((family, model, stepping)) = report.cpu {
        put(at::CPU, &[family, model, stepping]);
    }
    for (at, bits) in [
        (at::LAUNCH_MITIGATIONS, report.launch_mitigations),
        (at::CURRENT_MITIGATIONS, report.current_mitigations),
    ] {
        put(at, &bits.unwrap_or_default().to_le_bytes());
    }
    out
}

fn levels(tcb: TcbVersion, product: Product) -> [u8; 8] {
    let TcbVersion {
        fmc,
        boot_loader,
        tee,
        snp,
        microcode,
    } = tcb;
    assert_eq!(fmc.is_some(), product == Product::Turin);
    match fmc {
        Some(fmc) => [fmc, boot_loader, tee, snp, 0, 0, 0, microcode],
        None => [boot_loader, tee, 0, 0, 0, 0, snp, microcode],
    }
}
