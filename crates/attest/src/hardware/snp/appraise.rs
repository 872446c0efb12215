//! Holds an authentic report against a reference value: all checks are asked.

use siegel_ident::Timestamp;

use super::reference::{GuestPolicyRules, IdentityRules, PlatformRules, Reference, TcbRules};
use super::{Authentic, TcbVersion};
use crate::hardware::outcome::Outcomes;
use crate::hardware::{Check, Expected};

impl Authentic {
    pub(crate) fn hold_against(
        &self,
        reference: &Reference,
        expected: &Expected,
        now: Timestamp,
        outcomes: &mut Outcomes,
    ) {
        self.authenticity(outcomes);
        self.origin(reference, outcomes);
        reference.crl.hold(
            Check::SnpCrl,
            "revocation list",
            self.chain.crl.map(|list| list.from),
            now,
            outcomes,
        );
        self.tcb(&reference.tcb, outcomes);
        self.mitigations(reference, outcomes);
        self.guest_policy(&reference.guest_policy, outcomes);
        self.platform(&reference.platform, outcomes);
        let report = &self.report;
        outcomes.rule(Check::SnpVmpl, "VMPL", &reference.vmpl, &report.vmpl);
        outcomes.rule(
            Check::SnpMigrationAgent,
            "migration agent",
            &reference.migration_agent,
            &report.report_id_ma,
        );
        outcomes.rule(
            Check::SnpMeasurement,
            "launch measurement",
            &reference.measurement,
            &report.measurement,
        );
        outcomes.rule(
            Check::SnpHostData,
            "host data",
            &reference.host_data,
            &report.host_data,
        );
        outcomes.rule(
            Check::SnpHostData,
            "configuration digest in host data",
            &expected.config,
            &report.host_data,
        );
        self.identity(&reference.identity, outcomes);
        outcomes.rule(
            Check::ReportData,
            "report data",
            &expected.report_data,
            &report.report_data,
        );
    }

    /// What [`super::verify`] found, for the reader of the list.
    fn authenticity(&self, outcomes: &mut Outcomes) {
        let (report, chain) = (&self.report, &self.chain);
        outcomes.passed(
            Check::SnpFormat,
            format!("report version {}, reserved bytes zero", report.version),
        );
        outcomes.passed(Check::SnpAlgorithm, "ECDSA P-384 with SHA-384");
        outcomes.passed(
            Check::SnpChain,
            format!(
                "leads to the pinned root of {}, valid until {}",
                chain.product, chain.valid_until
            ),
        );
        let cpu = match report.cpu {
            Some((family, model, stepping)) => {
                format!(
                    "CPU family {family} model {model} stepping {stepping} is {}",
                    chain.product
                )
            }
            None => format!(
                "the certificate is for {}, the report names no CPU",
                chain.product
            ),
        };
        outcomes.passed(Check::SnpProduct, cpu);
        outcomes.passed(
            Check::SnpSignature,
            format!("by the certificate's {}", chain.leaf.key),
        );
        outcomes.passed(
            Check::SnpCertificateTcb,
            format!("both say {}", chain.leaf.tcb),
        );
        match &chain.leaf.provider {
            Some(provider) => outcomes.passed(
                Check::SnpChipId,
                format!("the certificate is of provider {provider}"),
            ),
            None => outcomes.passed(Check::SnpChipId, "the certificate is for this chip"),
        }
    }

    fn origin(&self, reference: &Reference, outcomes: &mut Outcomes) {
        let (report, chain) = (&self.report, &self.chain);
        outcomes.rule(
            Check::SnpFormat,
            "report version",
            &reference.report_version,
            &report.version,
        );
        outcomes.rule(
            Check::SnpProductAllowed,
            "product",
            &reference.product,
            &chain.product,
        );
        outcomes.rule(
            Check::SnpSigningKey,
            "signing key",
            &reference.signing_key,
            &chain.leaf.key,
        );
        outcomes.rule_if(
            Check::SnpChipId,
            "provider",
            &reference.provider,
            chain.leaf.provider.as_ref(),
        );
        self.chip(reference, outcomes);
    }

    /// A host that hides its chip's id can be held against neither list.
    fn chip(&self, reference: &Reference, outcomes: &mut Outcomes) {
        let check = Check::SnpChipAllowed;
        let chip = Some(&self.report.chip_id).filter(|id| !id.is_zero());
        outcomes.rule_if(check, "chip", &reference.chip_id, chip);
        let denied = &reference.denied_chips;
        let (good, found) = match chip {
            _ if denied.is_empty() => (true, "this one is not"),
            Some(chip) if denied.contains(chip) => (false, "this one is"),
            Some(_) => (true, "this one is not"),
            None => (false, "this one is hidden"),
        };
        outcomes.must(
            check,
            good,
            format!("denied chips: {} listed, {found}", denied.len()),
        );
    }

    /// Reported, committed and launch TCB against the rules; current at least committed.
    fn tcb(&self, rules: &TcbRules, outcomes: &mut Outcomes) {
        let report = &self.report;
        for (which, found) in [
            ("reported", report.reported_tcb),
            ("committed", report.committed_tcb),
            ("launch", report.launch_tcb),
        ] {
            tcb_parts(which, &found, rules, outcomes);
        }
        let (current, committed) = (report.current_tcb, report.committed_tcb);
        outcomes.must(
            Check::SnpTcb,
            current.at_least(&committed),
            format!("current TCB: found {current}, wanted at least the committed {committed}"),
        );
        let (current, committed) = (report.current_firmware, report.committed_firmware);
        outcomes.must(
            Check::SnpTcb,
            current >= committed,
            format!("firmware: found {current:?}, wanted at least the committed {committed:?}"),
        );
    }

    fn mitigations(&self, reference: &Reference, outcomes: &mut Outcomes) {
        let launch = self.report.launch_mitigations.map(super::BitSet);
        let current = self.report.current_mitigations.map(super::BitSet);
        outcomes.rule_if(
            Check::SnpMitigations,
            "launch mitigations",
            &reference.launch_mitigations,
            launch.as_ref(),
        );
        outcomes.rule_if(
            Check::SnpMitigations,
            "current mitigations",
            &reference.current_mitigations,
            current.as_ref(),
        );
    }

    fn guest_policy(&self, rules: &GuestPolicyRules, outcomes: &mut Outcomes) {
        let policy = self.report.policy;
        let check = Check::SnpGuestPolicy;
        let on = |bit: bool| if bit { "on" } else { "off" };
        outcomes.must(
            check,
            !policy.debug(),
            format!("debugging: found {}, wanted off (I3)", on(policy.debug())),
        );
        outcomes.must(
            check,
            policy.always_one(),
            format!("bit 17: found {}, wanted on", on(policy.always_one())),
        );
        let unknown = policy.unknown();
        outcomes.must(
            check,
            unknown == 0,
            format!("bits 26 and above: found {unknown:#x}, wanted 0x0"),
        );
        outcomes.rule(check, "ABI", &rules.abi, &policy.abi());
        for (name, rule, found) in [
            ("SMT allowed", &rules.smt, policy.smt()),
            (
                "migration agent allowed",
                &rules.migrate_ma,
                policy.migrate_ma(),
            ),
            (
                "single socket",
                &rules.single_socket,
                policy.single_socket(),
            ),
            ("CXL allowed", &rules.cxl_allowed, policy.cxl_allowed()),
            ("AES-256-XTS", &rules.aes_256_xts, policy.aes_256_xts()),
            (
                "RAPL disabled",
                &rules.rapl_disabled,
                policy.rapl_disabled(),
            ),
            (
                "ciphertext hiding",
                &rules.ciphertext_hiding,
                policy.ciphertext_hiding(),
            ),
            (
                "page swap disabled",
                &rules.page_swap_disabled,
                policy.page_swap_disabled(),
            ),
        ] {
            outcomes.rule(check, name, rule, &found);
        }
    }

    fn platform(&self, rules: &PlatformRules, outcomes: &mut Outcomes) {
        let platform = self.report.platform;
        for (name, rule, found) in [
            ("SMT", &rules.smt, platform.smt()),
            ("TSME", &rules.tsme, platform.tsme()),
            ("ECC", &rules.ecc, platform.ecc()),
            (
                "RAPL disabled",
                &rules.rapl_disabled,
                platform.rapl_disabled(),
            ),
            (
                "ciphertext hiding",
                &rules.ciphertext_hiding,
                platform.ciphertext_hiding(),
            ),
            (
                "alias check complete",
                &rules.alias_check,
                platform.alias_check(),
            ),
        ] {
            outcomes.rule(Check::SnpPlatform, name, rule, &found);
        }
        outcomes.rule(
            Check::SnpPlatform,
            "other platform bits",
            &rules.other_bits,
            &platform.unknown(),
        );
    }

    fn identity(&self, rules: &IdentityRules, outcomes: &mut Outcomes) {
        let (report, check) = (&self.report, Check::SnpIdentity);
        outcomes.rule(check, "id key", &rules.id_key, &report.id_key_digest);
        outcomes.rule(
            check,
            "author key",
            &rules.author_key,
            &report.author_key_digest,
        );
        outcomes.rule(check, "family id", &rules.family_id, &report.family_id);
        outcomes.rule(check, "image id", &rules.image_id, &report.image_id);
        outcomes.rule(check, "guest SVN", &rules.guest_svn, &report.guest_svn);
    }
}

fn tcb_parts(which: &str, found: &TcbVersion, rules: &TcbRules, outcomes: &mut Outcomes) {
    let check = Check::SnpTcb;
    outcomes.rule_if(
        check,
        &format!("{which} FMC"),
        &rules.fmc,
        found.fmc.as_ref(),
    );
    for (part, rule, found) in [
        ("boot loader", &rules.boot_loader, found.boot_loader),
        ("TEE", &rules.tee, found.tee),
        ("SNP", &rules.snp, found.snp),
        ("microcode", &rules.microcode, found.microcode),
    ] {
        outcomes.rule(check, &format!("{which} {part}"), rule, &found);
    }
}
