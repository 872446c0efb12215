//! Positive and negative cases of every check id: a change of a platform in good order, and whether it is accepted.

use super::*;
use crate::hardware::Freshness;
use crate::hardware::snp::mock::{Authority, Revoked, at};
use siegel_ident::Seconds;

/// What the change is, and the change.
pub(super) type Change = (&'static str, fn(&mut Case));

/// The cases of one check.
pub(super) struct Row {
    pub(super) check: Check,
    /// Accepted, and the check is on the list as passed.
    pub(super) positive: &'static [Change],
    /// Refused, and the check is the first that failed.
    pub(super) negative: &'static [Change],
}

const GOOD: Change = ("in good order", |_| {});

fn put(case: &mut Case, at: usize, bytes: &[u8]) {
    case.platform.report.put(at, bytes);
}

/// The report's policy with these bits turned over.
fn policy(case: &mut Case, bits: u64) {
    put(case, at::POLICY, &(0x3_0000 ^ bits).to_le_bytes());
}

fn version(case: &mut Case, version: u8) {
    put(case, at::VERSION, &[version]);
    case.reference.report_version = Rule::Exact(version.into());
    if version < 5 {
        put(case, at::LAUNCH_MITIGATIONS, &[0; 16]);
        case.reference.launch_mitigations = Rule::Ignore("before version 5".to_owned());
        case.reference.current_mitigations = Rule::Ignore("before version 5".to_owned());
    }
    if version < 3 {
        put(case, at::CPU, &[0; 3]);
    }
}

fn no_list_needed(case: &mut Case) {
    case.reference.crl = Freshness::Ignore("test".to_owned());
}

fn list(case: &mut Case) -> &mut mock::List {
    case.platform.list.as_mut().unwrap()
}

fn revoke(case: &mut Case, serial: &[u8]) {
    let serial = serial.to_vec();
    list(case).revoked.push(Revoked {
        serial,
        extensions: Vec::new(),
    });
}

macro_rules! row {
    ($check:ident: + [$($positive:expr),* $(,)?] - [$($negative:expr),* $(,)?]) => {
        Row { check: Check::$check, positive: &[$($positive),*], negative: &[$($negative),*] }
    };
}

pub(super) const ROWS: &[Row] = &[
    row!(Size: + [] - [
        ("evidence of 32 KiB and a byte", |c| c.after = |e, _| e.body = vec![0; 32 * 1024 + 1]),
        ("endorsements of more than 256 KiB", |c| c.after = |_, s| s.crls.push(vec![0; 256 * 1024])),
        ("a certificate of 256 KiB", |c| c.after = |_, s| s.certificates[0] = vec![0x30; 256 * 1024]),
        ("event log of more than 512 KiB", |c| c.after = |_, s| s.event_log = Some(vec![0; 512 * 1024 + 1])),
    ]),
    row!(Kind: + [GOOD] - [
        ("no reference value", |c| c.reference.name.clear()),
    ]),
    row!(ReportData: + [GOOD, ("ignored for a reason", |c| c.expected.report_data = Rule::Ignore("test".to_owned()))] - [
        ("one bit of the first byte", |c| put(c, at::REPORT_DATA, &[0x5c])),
        ("one bit of the last byte", |c| put(c, at::REPORT_DATA + 63, &[0xdd])),
        ("another expected", |c| c.expected.report_data = Rule::Exact(Hex([0; 64]))),
    ]),
    row!(SnpFormat: + [
        GOOD,
        ("version 2", |c| version(c, 2)),
        ("version 3", |c| version(c, 3)),
        ("version 4", |c| version(c, 4)),
    ] - [
        ("empty", |c| c.after = |e, _| e.body.clear()),
        ("one byte short", |c| c.after = |e, _| e.body.truncate(1183)),
        ("one byte more", |c| c.after = |e, _| e.body.push(0)),
        ("version 0", |c| put(c, at::VERSION, &[0])),
        ("version 1", |c| put(c, at::VERSION, &[1])),
        ("version 6", |c| put(c, at::VERSION, &[6])),
        ("version 2 names its CPU", |c| { version(c, 2); put(c, at::CPU, &[25]) }),
        ("version 4 has mitigations", |c| { version(c, 4); put(c, at::LAUNCH_MITIGATIONS, &[1]) }),
        ("older than the policy accepts", |c| { version(c, 2); c.reference.report_version = Rule::AtLeast(3) }),
        ("reserved flags", |c| put(c, at::FLAGS, &[1 << 5])),
        ("high reserved flags", |c| put(c, at::FLAGS + 3, &[0x80])),
        ("reserved 0x4c", |c| put(c, 0x4c, &[1])),
        ("reserved 0x18b", |c| put(c, 0x18b, &[1])),
        ("reserved 0x19f", |c| put(c, 0x19f, &[1])),
        ("reserved 0x1eb", |c| put(c, 0x1eb, &[1])),
        ("reserved 0x1ef", |c| put(c, 0x1ef, &[1])),
        ("reserved 0x208", |c| put(c, 0x208, &[1])),
        ("reserved 0x29f", |c| put(c, 0x29f, &[1])),
        ("reserved byte of current TCB", |c| put(c, at::CURRENT_TCB + 2, &[1])),
        ("reserved byte of reported TCB", |c| put(c, at::REPORTED_TCB + 3, &[1])),
        ("reserved byte of committed TCB", |c| put(c, at::COMMITTED_TCB + 4, &[1])),
        ("reserved byte of launch TCB", |c| put(c, at::LAUNCH_TCB + 5, &[1])),
        ("padding of R", |c| c.after = |e, _| e.body[0x2d0] = 1),
        ("padding of S", |c| c.after = |e, _| e.body[0x318] = 1),
        ("first byte after the signature", |c| c.after = |e, _| e.body[0x330] = 1),
        ("last byte", |c| c.after = |e, _| e.body[0x49f] = 1),
    ]),
    row!(SnpAlgorithm: + [GOOD] - [
        ("none", |c| put(c, at::ALGORITHM, &[0])),
        ("unknown", |c| put(c, at::ALGORITHM, &[2])),
        ("high byte", |c| put(c, at::ALGORITHM + 3, &[1])),
    ]),
    row!(SnpSignature: + [GOOD] - [
        ("one bit of R", |c| c.after = |e, _| e.body[0x2a0] ^= 1),
        ("one bit of S", |c| c.after = |e, _| e.body[0x317] ^= 1),
        ("no signature", |c| c.after = |e, _| e.body[0x2a0..0x330].fill(0)),
        ("one bit of the measurement", |c| c.after = |e, _| e.body[at::MEASUREMENT] ^= 1),
        ("another chip's", |c| c.after = |e, _| {
            e.body = Platform::new(Product::Genoa, SigningKey::Vcek).unwrap().evidence().unwrap().body;
        }),
    ]),
    row!(SnpSigningKey: + [
        GOOD,
        ("an author key signed the identity", |c| put(c, at::FLAGS, &[1])),
        ("VLEK", |c| *c = Case::new(Product::Genoa, SigningKey::Vlek)),
        ("VLEK where the chip's key is masked", |c| {
            *c = Case::new(Product::Genoa, SigningKey::Vlek);
            put(c, at::FLAGS, &[1 << 2 | 2]);
        }),
    ] - [
        ("report says VLEK, certificate is a VCEK", |c| put(c, at::FLAGS, &[1 << 2])),
        ("report says VCEK, certificate is a VLEK", |c| {
            *c = Case::new(Product::Genoa, SigningKey::Vlek);
            put(c, at::FLAGS, &[0]);
        }),
        ("the chip's key is masked", |c| put(c, at::FLAGS, &[2])),
        ("not signed", |c| put(c, at::FLAGS, &[7 << 2])),
        ("unknown key", |c| put(c, at::FLAGS, &[2 << 2])),
        ("VCEK where the policy wants VLEK", |c| c.reference.signing_key = Rule::Exact(SigningKey::Vlek)),
    ]),
    row!(SnpChain: + [
        GOOD,
        ("of Milan", |c| *c = Case::new(Product::Milan, SigningKey::Vcek)),
        ("of Turin", |c| *c = Case::new(Product::Turin, SigningKey::Vcek)),
    ] - [
        ("AMD's own roots (I1, I11)", |c| c.roots = TrustRoots::vendors()),
        ("no roots at all", |c| c.roots.amd.clear()),
        ("root of another product only", |c| c.roots.amd.retain(|(product, _)| *product != Product::Genoa)),
        ("a second too late", |c| { let until = c.platform.leaf.window.1; c.now = until.plus(Seconds(1)) }),
        ("a second too early", |c| { let from = c.platform.leaf.window.0; c.now = from.minus(Seconds(1)) }),
    ]),
    row!(SnpCrl: + [
        GOOD,
        ("absent, not demanded", |c| { c.platform.list = None; no_list_needed(c) }),
        ("another serial is on it", |c| revoke(c, &[8])),
        ("made now", |c| list(c).made = NOW),
        ("as old as allowed", |c| list(c).made = NOW.minus(Seconds(7 * 86_400))),
        ("next due now", |c| list(c).next = Some(NOW)),
    ] - [
        ("absent", |c| c.platform.list = None),
        ("too old", |c| list(c).made = NOW.minus(Seconds(7 * 86_400 + 1))),
        ("expired, though not demanded", |c| { list(c).next = Some(NOW.minus(Seconds(1))); no_list_needed(c) }),
        ("from the future", |c| list(c).made = NOW.plus(Seconds(1))),
        ("without an end", |c| list(c).next = None),
        ("of another product", |c| list(c).issuer = "ARK-Turin".to_owned()),
        ("signed by another", |c| c.after = |_, s| {
            let list = Platform::new(Product::Genoa, SigningKey::Vcek).unwrap().list.unwrap();
            s.crls = vec![list.sign(&Authority::ask().unwrap()).unwrap()];
        }),
        ("ASK revoked", |c| { revoke(c, &[7]); c.platform.signer.serial = vec![7] }),
        ("ASK revoked, long serial", |c| { revoke(c, &[0, 0x80, 1]); c.platform.signer.serial = vec![0, 0x80, 1] }),
        ("ARK revoked", |c| { c.platform.ark.serial = vec![9]; revoke(c, &[9]) }),
        ("stapled twice", |c| c.after = |_, s| s.crls.push(s.crls[0].clone())),
        ("one bit", |c| c.after = |_, s| s.crls[0][100] ^= 1),
        ("followed by a byte", |c| c.after = |_, s| s.crls[0].push(0)),
        ("empty", |c| c.after = |_, s| s.crls[0].clear()),
        ("root may not sign lists", |c| c.platform.ark.extensions[0].value = vec![3, 2, 2, 4]),
        ("names two signature algorithms", |c| list(c).outer = Some(vec![0x30, 0])),
        ("not in the one DER encoding", |c| list(c).extensions[0].critical = Some(false)),
        ("partial list", |c| chain::critical(&mut list(c).extensions, "2.5.29.28")),
        ("delta list", |c| chain::critical(&mut list(c).extensions, "2.5.29.27")),
        ("entry of an indirect list", |c| {
            revoke(c, &[8]);
            chain::critical(&mut list(c).revoked[0].extensions, "2.5.29.29");
        }),
        ("negative number", |c| list(c).extensions[0].value = vec![2, 1, 0xff]),
        ("number of 22 bytes", |c| {
            list(c).extensions[0].value = [&[2, 22, 1][..], &[0; 21]].concat();
        }),
        ("two numbers", |c| { let number = list(c).extensions[0].clone(); list(c).extensions.push(number) }),
    ]),
    row!(SnpProduct: + [
        GOOD,
        ("Genoa with stepping", |c| chain::product(c, "Genoa-B1")),
        ("Bergamo", |c| { put(c, at::CPU, &[25, 0xa0, 2]); chain::product(c, "Bergamo-A0") }),
    ] - [
        ("Milan's CPU", |c| put(c, at::CPU, &[25, 1, 1])),
        ("Turin's CPU", |c| put(c, at::CPU, &[26, 2, 1])),
        ("CPU of no known generation", |c| put(c, at::CPU, &[25, 0x20, 1])),
        ("no CPU", |c| put(c, at::CPU, &[0, 0, 0])),
        ("certificate of Milan by Genoa's authority", |c| chain::product(c, "Milan-B0")),
        ("product that only starts alike", |c| chain::product(c, "GenoaX")),
        ("no product", |c| c.platform.leaf.remove(certificates::PRODUCT_NAME)),
    ]),
    row!(SnpCertificateTcb: + [
        GOOD,
        ("levels above 127", |c| {
            put(c, at::REPORTED_TCB + 7, &[0xd9]);
            put(c, at::CURRENT_TCB + 7, &[0xd9]);
            chain::level(c, certificates::MICROCODE, &[2, 2, 0, 0xd9]);
        }),
        ("Turin with FMC", |c| *c = Case::new(Product::Turin, SigningKey::Vcek)),
    ] - [
        ("boot loader", |c| chain::level(c, certificates::BOOT_LOADER, &[2, 1, 9])),
        ("TEE", |c| chain::level(c, certificates::TEE, &[2, 1, 9])),
        ("SNP", |c| chain::level(c, certificates::SNP, &[2, 1, 9])),
        ("microcode", |c| chain::level(c, certificates::MICROCODE, &[2, 1, 9])),
        ("FMC", |c| {
            *c = Case::new(Product::Turin, SigningKey::Vcek);
            chain::level(c, certificates::FMC, &[2, 1, 9]);
        }),
        ("report claims more than the key has", |c| put(c, at::REPORTED_TCB, &[11])),
    ]),
    row!(SnpChipId: + [
        GOOD,
        ("in an OCTET STRING", |c| {
            let id = [&[4, 64][..], &[0xc4; 64]].concat();
            c.platform.leaf.set(certificates::HARDWARE_ID, id);
        }),
        ("eight bytes on Turin", |c| *c = Case::new(Product::Turin, SigningKey::Vcek)),
        ("provider", |c| *c = Case::new(Product::Genoa, SigningKey::Vlek)),
    ] - [
        ("certificate of another chip", |c| c.platform.leaf.set(certificates::HARDWARE_ID, vec![0xc5; 64])),
        ("hidden by the host", |c| put(c, at::CHIP_ID, &[0; 64])),
        ("more than eight bytes on Turin", |c| {
            *c = Case::new(Product::Turin, SigningKey::Vcek);
            put(c, at::CHIP_ID + 8, &[1]);
        }),
        ("another provider", |c| {
            *c = Case::new(Product::Genoa, SigningKey::Vlek);
            c.reference.provider = Rule::Exact("CN=other.example".to_owned());
        }),
        ("a provider is wanted, it is a chip", |c| c.reference.provider = Rule::Exact("CN=mock.example".to_owned())),
    ]),
    row!(SnpTcb: + [
        GOOD,
        ("current above committed", |c| put(c, at::CURRENT_TCB, &[11])),
        ("firmware above committed", |c| put(c, at::CURRENT_FIRMWARE, &[0, 56])),
        ("Turin", |c| *c = Case::new(Product::Turin, SigningKey::Vcek)),
    ] - [
        ("reported boot loader", |c| { put(c, at::REPORTED_TCB, &[9]); chain::level(c, certificates::BOOT_LOADER, &[2, 1, 9]) }),
        ("committed boot loader", |c| put(c, at::COMMITTED_TCB, &[9])),
        ("committed TEE", |c| put(c, at::COMMITTED_TCB + 1, &[0])),
        ("committed SNP", |c| put(c, at::COMMITTED_TCB + 6, &[24])),
        ("committed microcode", |c| put(c, at::COMMITTED_TCB + 7, &[83])),
        ("launch boot loader", |c| put(c, at::LAUNCH_TCB, &[9])),
        ("launch SNP", |c| put(c, at::LAUNCH_TCB + 6, &[24])),
        ("launch microcode", |c| put(c, at::LAUNCH_TCB + 7, &[83])),
        ("launch FMC on Turin", |c| {
            *c = Case::new(Product::Turin, SigningKey::Vcek);
            put(c, at::LAUNCH_TCB, &[0]);
        }),
        ("FMC wanted on Genoa", |c| c.reference.tcb.fmc = Rule::AtLeast(0)),
        ("current boot loader below committed", |c| put(c, at::CURRENT_TCB, &[9])),
        ("current TEE below committed", |c| put(c, at::CURRENT_TCB + 1, &[0])),
        ("current SNP below committed", |c| put(c, at::CURRENT_TCB + 6, &[24])),
        ("current microcode below committed", |c| put(c, at::CURRENT_TCB + 7, &[83])),
        ("firmware below committed", |c| put(c, at::CURRENT_FIRMWARE, &[2])),
        ("firmware major below committed", |c| put(c, at::CURRENT_FIRMWARE, &[9, 99, 0])),
    ]),
    row!(SnpMitigations: + [
        GOOD,
        ("more bits", |c| put(c, at::LAUNCH_MITIGATIONS, &[3])),
        ("highest bit wanted and on", |c| {
            put(c, at::CURRENT_MITIGATIONS + 7, &[0x80]);
            c.reference.current_mitigations = Rule::Exact(BitSet(1 << 63 | 1));
        }),
    ] - [
        ("off at launch", |c| put(c, at::LAUNCH_MITIGATIONS, &[2])),
        ("off now", |c| put(c, at::CURRENT_MITIGATIONS, &[2])),
        ("not reported before version 5", |c| {
            version(c, 4);
            c.reference.launch_mitigations = Rule::AtLeast(BitSet(0));
        }),
    ]),
    row!(SnpGuestPolicy: + [
        GOOD,
        ("ABI as demanded", |c| {
            put(c, at::POLICY, &[55, 1]);
            c.reference.guest_policy.abi = Rule::AtLeast(AbiVersion { major: 1, minor: 55 });
        }),
    ] - [
        ("debugging", |c| policy(c, 1 << 19)),
        ("bit 17 off", |c| policy(c, 1 << 17)),
        ("bit 26", |c| policy(c, 1 << 26)),
        ("bit 63", |c| policy(c, 1 << 63)),
        ("SMT", |c| policy(c, 1 << 16)),
        ("migration agent allowed", |c| policy(c, 1 << 18)),
        ("single socket", |c| policy(c, 1 << 20)),
        ("CXL", |c| policy(c, 1 << 21)),
        ("AES-256-XTS", |c| policy(c, 1 << 22)),
        ("RAPL", |c| policy(c, 1 << 23)),
        ("ciphertext hiding", |c| policy(c, 1 << 24)),
        ("page swap", |c| policy(c, 1 << 25)),
        ("ABI minor", |c| {
            put(c, at::POLICY, &[54, 1]);
            c.reference.guest_policy.abi = Rule::AtLeast(AbiVersion { major: 1, minor: 55 });
        }),
        ("ABI major", |c| {
            put(c, at::POLICY, &[99, 0]);
            c.reference.guest_policy.abi = Rule::AtLeast(AbiVersion { major: 1, minor: 55 });
        }),
    ]),
    row!(SnpPlatform: + [
        GOOD,
        ("bit 6, which the policy lists", |c| {
            put(c, at::PLATFORM, &[0x65]);
            c.reference.platform.other_bits = Rule::AnyOf(vec![BitSet(0), BitSet(0x40)]);
        }),
    ] - [
        ("no alias check (BadRAM)", |c| put(c, at::PLATFORM, &[0x05])),
        ("SMT", |c| put(c, at::PLATFORM, &[0x24])),
        ("TSME", |c| put(c, at::PLATFORM, &[0x27])),
        ("ECC", |c| put(c, at::PLATFORM, &[0x21])),
        ("RAPL", |c| put(c, at::PLATFORM, &[0x2d])),
        ("ciphertext hiding", |c| put(c, at::PLATFORM, &[0x35])),
        ("bit 6", |c| put(c, at::PLATFORM, &[0x65])),
        ("bit 63", |c| put(c, at::PLATFORM + 7, &[0x80])),
    ]),
    row!(SnpVmpl: + [
        GOOD,
        ("1, which the policy lists", |c| {
            put(c, at::VMPL, &[1]);
            c.reference.vmpl = Rule::AnyOf(vec![0, 1]);
        }),
    ] - [
        ("1", |c| put(c, at::VMPL, &[1])),
        ("asked by the host", |c| put(c, at::VMPL, &[0xff; 4])),
    ]),
    row!(SnpMigrationAgent: + [GOOD] - [
        ("bound", |c| put(c, at::MIGRATION_AGENT, &[1; 32])),
        ("one bit", |c| put(c, at::MIGRATION_AGENT + 31, &[0xfe])),
    ]),
    row!(SnpMeasurement: + [GOOD] - [
        ("first bit", |c| put(c, at::MEASUREMENT, &[0x3f])),
        ("last bit", |c| put(c, at::MEASUREMENT + 47, &[0xbe])),
        ("zeros", |c| put(c, at::MEASUREMENT, &[0; 48])),
    ]),
    row!(SnpHostData: + [
        GOOD,
        ("the expected digest, any other value", |c| c.reference.host_data = Rule::Ignore("test".to_owned())),
    ] - [
        ("one bit", |c| put(c, at::HOST_DATA, &[0x0c])),
        ("not the expected digest", |c| {
            put(c, at::HOST_DATA + 31, &[0x0c]);
            c.reference.host_data = Rule::Ignore("test".to_owned());
        }),
        ("the expected digest, and not the reference value's", |c| c.reference.host_data = Rule::Exact(Hex([1; 32]))),
    ]),
    row!(SnpIdentity: + [
        GOOD,
        ("SVN above the minimum", |c| {
            put(c, at::GUEST_SVN, &[5]);
            c.reference.identity.guest_svn = Rule::AtLeast(4);
        }),
    ] - [
        ("id key", |c| put(c, at::ID_KEY, &[1])),
        ("author key", |c| put(c, at::AUTHOR_KEY + 47, &[1])),
        ("family", |c| put(c, at::FAMILY_ID, &[1])),
        ("image", |c| put(c, at::IMAGE_ID + 15, &[1])),
        ("SVN", |c| put(c, at::GUEST_SVN, &[1])),
        ("SVN below the minimum", |c| {
            put(c, at::GUEST_SVN, &[3]);
            c.reference.identity.guest_svn = Rule::AtLeast(4);
        }),
    ]),
    row!(SnpProductAllowed: + [
        GOOD,
        ("one of two", |c| c.reference.product = Rule::AnyOf(vec![Product::Turin, Product::Genoa])),
    ] - [
        ("Milan is denied", |c| {
            *c = Case::new(Product::Milan, SigningKey::Vcek);
            c.reference.product = Rule::AnyOf(vec![Product::Genoa, Product::Turin]);
        }),
        ("an order of products means nothing", |c| c.reference.product = Rule::AtLeast(Product::Milan)),
    ]),
    row!(SnpChipAllowed: + [
        GOOD,
        ("hidden, and no list names chips", |c| *c = Case::new(Product::Genoa, SigningKey::Vlek)),
    ] - [
        ("not on the list", |c| c.reference.chip_id = Rule::AnyOf(vec![Hex([9; 64])])),
        ("denied", |c| c.reference.denied_chips.push(mock::chip(Product::Genoa))),
        ("hidden, and some are denied", |c| {
            *c = Case::new(Product::Genoa, SigningKey::Vlek);
            c.reference.denied_chips = vec![Hex([8; 64])];
        }),
        ("hidden, and zeros are on the list", |c| {
            *c = Case::new(Product::Genoa, SigningKey::Vlek);
            c.reference.chip_id = Rule::Exact(Hex([0; 64]));
        }),
    ]),
];
