//! The checks of evidence, by stable names. `OVERVIEW.md` maps each to its tests.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! checks {
    ($($(#[doc = $doc:literal])+ $name:ident = $id:literal, $plain:literal;)*) => {
        /// One check. Its [`Check::id`] is stable: it stands in errors, reports, tests and docs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Check {
            $($(#[doc = $doc])+ $name,)*
        }

        impl Check {
            /// Every check, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The stable kebab-case name.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }

            /// What is asked, in plain words.
            pub const fn question(self) -> &'static str {
                match self { $(Self::$name => $plain,)* }
            }
        }
    };
}

checks! {
    /// Evidence and endorsements stay below their size bounds (I14).
    Size = "size", "is every input below its size bound?";
    /// The kind is one that the policy accepts (40).
    Kind = "kind", "does the policy accept this kind of TEE?";
    /// The 64 bytes that the guest chose are the expected binding (18).
    ReportData = "report-data", "does the evidence bind the expected keys, role and challenge?";

    /// Length, version and reserved bytes of an SNP report (1).
    SnpFormat = "snp-format", "is it an SNP report of a known version, exactly 1,184 bytes, reserved bytes zero?";
    /// ECDSA P-384 with SHA-384 (2).
    SnpAlgorithm = "snp-algorithm", "is it signed with ECDSA P-384 and SHA-384?";
    /// The signature over the raw bytes (3).
    SnpSignature = "snp-signature", "does the certificate's key verify the signature over the raw report?";
    /// The key that the report names is the kind of key that the certificate is for (4).
    SnpSigningKey = "snp-signing-key", "is the certificate of the kind of key that the report names?";
    /// Pinned root, chain, validity (5).
    SnpChain = "snp-chain", "does the chain lead to AMD's pinned root, all valid now?";
    /// Revocation (5).
    SnpCrl = "snp-crl", "is a current revocation list there, and is nothing of the chain on it?";
    /// Certificate's product against the CPU that the report names (6).
    SnpProduct = "snp-product", "is the certificate for the CPU generation that the report names?";
    /// The certificate's patch levels against the reported TCB (7).
    SnpCertificateTcb = "snp-certificate-tcb", "does the certificate state the reported TCB?";
    /// The certificate's hardware id against the chip id (8).
    SnpChipId = "snp-chip-id", "is the certificate for this chip, or for an accepted cloud provider?";
    /// Minimum TCB (9).
    SnpTcb = "snp-tcb", "is the firmware new enough: reported, committed, current and at launch?";
    /// Mitigation vectors (10).
    SnpMitigations = "snp-mitigations", "are the required mitigations on?";
    /// Guest policy bits (11).
    SnpGuestPolicy = "snp-guest-policy", "is the guest's own policy strict enough (no debugging, no migration agent)?";
    /// Platform bits (12).
    SnpPlatform = "snp-platform", "is the platform configured as demanded (alias check, ECC, TSME, SMT)?";
    /// Privilege level (13).
    SnpVmpl = "snp-vmpl", "did an accepted privilege level ask for the report?";
    /// Migration agent (14).
    SnpMigrationAgent = "snp-migration-agent", "is no migration agent bound to the guest?";
    /// Launch measurement (15).
    SnpMeasurement = "snp-measurement", "is the launch measurement an accepted one?";
    /// Host data (16).
    SnpHostData = "snp-host-data", "does the host data carry the expected configuration digest?";
    /// Identity block (17).
    SnpIdentity = "snp-identity", "are id key, author key, family, image and SVN as demanded?";
    /// Product allow-list (19).
    SnpProductAllowed = "snp-product-allowed", "does the policy accept this CPU generation?";
    /// Chips allowed and denied (20).
    SnpChipAllowed = "snp-chip-allowed", "does the policy accept this very chip?";

    /// Framing of a quote (21).
    QuoteFormat = "quote-format", "is it a quote of a known version, exactly as long as it says?";
    /// Signatures and chain at `now` (22, 25).
    QuoteSignature = "quote-signature", "do Intel's chain, collateral and signatures verify now?";
    /// TCB status and advisories (23).
    QuoteStatus = "quote-status", "does the policy accept the TCB status and its advisories?";
    /// Age and number of the collateral (24).
    QuoteCollateral = "quote-collateral", "is the collateral young enough, and not older than seen before?";
    /// PCK: CA, FMSPC, PPID and flags (32).
    QuotePlatform = "quote-platform", "does the policy accept this platform?";
    /// Debug and other TD attributes (26).
    TdxAttributes = "tdx-attributes", "is debugging off, and are the TD's attributes as demanded?";
    /// XFAM (27).
    TdxXfam = "tdx-xfam", "are the TD's extended features accepted?";
    /// SEAM module (28).
    TdxModule = "tdx-module", "is the TDX module signed by Intel, unmodified and new enough?";
    /// MRTD and RTMRs (29).
    TdxMeasurement = "tdx-measurement", "are the TD's measurement and run-time registers accepted ones?";
    /// Configuration registers (16, 30).
    TdxConfig = "tdx-config", "does MRCONFIGID carry the expected configuration digest, and are owner and service registers as demanded?";
    /// Event log replay (31).
    EventLog = "event-log", "does the event log replay to the registers, and are its named events the expected ones?";
    /// SGX attributes (26).
    SgxAttributes = "sgx-attributes", "is debugging off, and are the enclave's attributes as demanded?";
    /// MRENCLAVE, MRSIGNER, product and SVN (29).
    SgxMeasurement = "sgx-measurement", "is the enclave an accepted one?";

    /// CBOR and COSE framing.
    NitroFormat = "nitro-format", "is it a Nitro document in the one accepted encoding?";
    /// ES384 by the leaf certificate.
    NitroSignature = "nitro-signature", "does the leaf certificate's key verify the signature?";
    /// Chain to the pinned root.
    NitroChain = "nitro-chain", "does the chain lead to AWS's pinned root, all valid now?";
    /// Time stamp against `now` and the leaf.
    NitroTime = "nitro-time", "was the document made recently, while its certificate was valid?";
    /// All-zero PCR0–2 mean a debug enclave.
    NitroDebug = "nitro-debug", "is it no debug enclave (PCR0 to PCR2 are not zero)?";
    /// PCRs.
    NitroMeasurement = "nitro-measurement", "are the PCRs accepted ones?";
    /// Module id.
    NitroModule = "nitro-module", "does the policy accept this module?";
    /// Nonce, user data and public key.
    NitroBinding = "nitro-binding", "are nonce, user data and public key the expected ones?";
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl Serialize for Check {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}
