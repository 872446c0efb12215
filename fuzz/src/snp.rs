//! Mock SNP platforms, a policy for them, and that policy once more: read from the raw bytes, by the ABI's table.

use std::sync::LazyLock;

use serde_json::{Value, json};
use siegel_attest::hardware::snp::mock::{self, Authority, Draft, Platform, at};
use siegel_attest::hardware::snp::{Product, REPORT_LEN, SigningKey};
use siegel_attest::hardware::{Endorsements, Expected, Hex, ReferenceValues, Rule, TrustRoots};

/// Report data that the policy expects; the mock's own.
pub const REPORT_DATA: [u8; 64] = [0x5d; 64];
/// Configuration digest that the policy expects; the mock's own.
pub const CONFIG: [u8; 32] = [0x0d; 32];
/// Accepted measurements; the first is the mock's own.
pub const MEASUREMENTS: [[u8; 48]; 2] = [[0x3e; 48], [0x3f; 48]];
/// The revocation list is at most a day old.
pub const LIST_AGE_S: u64 = 86_400;

/// What does not change between inputs.
pub struct World {
    /// The platform as it is made.
    pub platform: Platform,
    /// Its report as it is made.
    pub draft: Draft,
    /// Its endorsements as they are made.
    pub endorsements: Endorsements,
    /// Its policy.
    pub references: ReferenceValues,
    /// VCEK or VLEK.
    pub key: SigningKey,
}

/// A platform of each product with each kind of key.
pub fn worlds() -> Vec<World> {
    let mut all = Vec::new();
    for product in Product::ALL {
        for key in [SigningKey::Vcek, SigningKey::Vlek] {
            let platform = Platform::new(product, key).expect("randomness");
            all.push(World {
                draft: platform.report.clone(),
                endorsements: platform.endorsements().expect("randomness"),
                references: references(product, key),
                platform,
                key,
            });
        }
    }
    all
}

/// The development vendor's authorities: root, for chips, for providers.
pub static AUTHORITIES: LazyLock<[Authority; 3]> = LazyLock::new(|| {
    [Authority::ark(), Authority::ask(), Authority::asvk()].map(|key| key.expect("committed"))
});

/// The mock's roots.
pub static ROOTS: LazyLock<TrustRoots> = LazyLock::new(|| mock::roots().expect("committed"));

/// What evidence must carry.
pub fn expected() -> Expected {
    Expected {
        report_data: Rule::Exact(Hex(REPORT_DATA)),
        config: Rule::Exact(Hex(CONFIG)),
    }
}

/// Least patch levels, in the order of the eight bytes; all are at most the mock's own.
const fn least(product: Product) -> [u8; 8] {
    match product {
        Product::Milan => [4, 0, 0, 0, 0, 0, 20, 200],
        Product::Genoa => [8, 1, 0, 0, 0, 0, 25, 80],
        Product::Turin => [1, 1, 1, 3, 0, 0, 0, 70],
    }
}

fn references(product: Product, key: SigningKey) -> ReferenceValues {
    let hex = |byte: &str, len: usize| byte.repeat(len);
    let ignore = json!({ "ignore": "a fuzz target" });
    let exact = |value: Value| json!({ "exact": value });
    let at_least = |value: u8| json!({ "at_least": value });
    let level = least(product);
    let (fmc, order) = match product {
        Product::Turin => (at_least(level[0]), [1, 2, 3, 7]),
        _ => (ignore.clone(), [0, 1, 6, 7]),
    };
    let [boot_loader, tee, snp, microcode] = order.map(|part: usize| at_least(level[part]));
    let (key, provider, mitigations) = match key {
        SigningKey::Vcek => (
            "vcek",
            ignore.clone(),
            json!({ "at_least": "0000000000000001" }),
        ),
        SigningKey::Vlek => ("vlek", exact("CN=mock.example".into()), ignore.clone()),
    };
    let reference = json!({
        "name": "a fuzz target",
        "product": exact(product.as_str().into()),
        "report_version": { "at_least": 3 },
        "signing_key": exact(key.into()),
        "provider": provider,
        "chip_id": ignore,
        "denied_chips": [],
        "crl": { "max_age_s": LIST_AGE_S },
        "tcb": {
            "fmc": fmc, "boot_loader": boot_loader, "tee": tee, "snp": snp, "microcode": microcode,
        },
        "launch_mitigations": mitigations,
        "current_mitigations": mitigations,
        "guest_policy": {
            "abi": { "at_least": { "major": 0, "minor": 0 } },
            "smt": ignore,
            "migrate_ma": exact(false.into()),
            "single_socket": ignore,
            "cxl_allowed": exact(false.into()),
            "aes_256_xts": exact(false.into()),
            "rapl_disabled": ignore,
            "ciphertext_hiding": ignore,
            "page_swap_disabled": exact(false.into()),
        },
        "platform": {
            "smt": ignore,
            "tsme": exact(false.into()),
            "ecc": exact(true.into()),
            "rapl_disabled": ignore,
            "ciphertext_hiding": ignore,
            "alias_check": exact(true.into()),
            "other_bits": exact("0000000000000000".into()),
        },
        "vmpl": { "any_of": [0, 1] },
        "migration_agent": exact(hex("ff", 32).into()),
        "measurement": { "any_of": [hex("3e", 48), hex("3f", 48)] },
        "host_data": exact(hex("0d", 32).into()),
        "identity": {
            "id_key": exact(hex("00", 48).into()),
            "author_key": ignore,
            "family_id": ignore,
            "image_id": ignore,
            "guest_svn": { "at_least": 0 },
        },
    });
    serde_json::from_value(json!({ "sev-snp": [reference] })).expect("a reference value")
}

/// Bytes that each version leaves zero, the padding of the signature among them.
fn reserved(version: u32) -> [std::ops::Range<usize>; 7] {
    [
        0x4c..0x50,
        0x18b..0x1a0,
        0x1eb..0x1ec,
        0x1ef..0x1f0,
        if version < 5 {
            0x1f8..0x2a0
        } else {
            0x208..0x2a0
        },
        0x2d0..0x2e8,
        0x318..REPORT_LEN,
    ]
}

/// Why the policy refuses these bytes, signed by the platform's chip; `None` if it accepts them. The certificate states
/// the levels `stated`, in the order of the eight bytes, and the chip `chip` (VCEK).
pub fn refusal(world: &World, body: &[u8], stated: [u8; 8], chip: &[u8]) -> Option<&'static str> {
    let product = world.platform.product;
    let u32 = |at: usize| u32::from_le_bytes(body[at..at + 4].try_into().expect("four bytes"));
    let u64 = |at: usize| u64::from_le_bytes(body[at..at + 8].try_into().expect("eight bytes"));
    let levels = |at: usize| -> [u8; 8] { body[at..at + 8].try_into().expect("eight bytes") };
    let not_less = |one: [u8; 8], least: [u8; 8]| one.iter().zip(least).all(|(a, b)| *a >= b);
    let zero = |range: &std::ops::Range<usize>| body[range.clone()].iter().all(|byte| *byte == 0);
    let (version, flags, policy) = (u32(at::VERSION), u32(at::FLAGS), u64(at::POLICY));
    let unused = match product {
        Product::Turin => 4..7,
        _ => 2..6,
    };
    let tcbs = [
        at::REPORTED_TCB,
        at::COMMITTED_TCB,
        at::LAUNCH_TCB,
        at::CURRENT_TCB,
    ];
    let [reported, committed, launch, current] = tcbs.map(levels);
    let generation = match (body[at::CPU], body[at::CPU + 1]) {
        (25, 0..16) => Some(Product::Milan),
        (25, 16..32 | 0xa0..0xb0) => Some(Product::Genoa),
        (26, 0..32) => Some(Product::Turin),
        _ => None,
    };
    let firmware = |at: usize| [body[at + 2], body[at + 1], body[at]];
    let vcek = world.key == SigningKey::Vcek;
    let platform = u64(at::PLATFORM);
    let checks = [
        ((3..=5).contains(&version), "version"),
        (reserved(version).iter().all(zero), "reserved bytes"),
        (u32(at::ALGORITHM) == 1, "algorithm"),
        (flags >> 5 == 0, "reserved flags"),
        (flags >> 2 & 7 == u32::from(!vcek), "signing key"),
        (!(vcek && flags & 2 != 0), "masked chip key"),
        (generation == Some(product), "CPU"),
        (
            tcbs.iter()
                .all(|at| zero(&(at + unused.start..at + unused.end))),
            "unused levels",
        ),
        (reported == stated, "the certificate's levels"),
        (
            [reported, committed, launch]
                .iter()
                .all(|one| not_less(*one, least(product))),
            "least levels",
        ),
        (not_less(current, committed), "current below committed"),
        (
            firmware(at::CURRENT_FIRMWARE) >= firmware(at::COMMITTED_FIRMWARE),
            "firmware below committed",
        ),
        (policy >> 19 & 1 == 0, "debugging (I3)"),
        (policy >> 17 & 1 == 1, "bit 17"),
        (policy >> 26 == 0, "unknown policy bits"),
        (
            policy & (1 << 18 | 1 << 21 | 1 << 22 | 1 << 25) == 0,
            "policy bits",
        ),
        (platform & !0x19 == 0x24, "platform bits"),
        (u32(at::VMPL) <= 1, "VMPL"),
        (
            body[at::MIGRATION_AGENT..][..32] == [0xff; 32],
            "migration agent",
        ),
        (
            MEASUREMENTS
                .iter()
                .any(|one| body[at::MEASUREMENT..][..48] == one[..]),
            "measurement",
        ),
        (body[at::HOST_DATA..][..32] == CONFIG, "host data"),
        (body[at::REPORT_DATA..][..64] == REPORT_DATA, "report data"),
        (body[at::ID_KEY..][..48] == [0; 48], "id key"),
        (
            !vcek
                || (body[at::CHIP_ID..].starts_with(chip)
                    && zero(&(at::CHIP_ID + chip.len()..0x1e0))),
            "chip",
        ),
        (
            !vcek
                || (version == 5
                    && u64(at::LAUNCH_MITIGATIONS) & u64(at::CURRENT_MITIGATIONS) & 1 == 1),
            "mitigations",
        ),
    ];
    checks
        .into_iter()
        .find_map(|(good, what)| (!good).then_some(what))
}

/// A host's certificate table: VCEK, VLEK, ASK, ARK and list, as far as they are there.
pub fn certificate_table(parts: &[Option<&[u8]>; 5]) -> Vec<u8> {
    const GUIDS: [u128; 5] = [
        0x63da758de6644564adc5f4b93be8accd,
        0xa8074bc2a25a483eaae639c045a0b8a1,
        0x4ab7b379bbac4fe4a02f05aef327c782,
        0xc0b406a4a803495297433fb6014cd0ae,
        0x92f81bc358114d3d97ffd19f88dc67ea,
    ];
    let present = || {
        GUIDS
            .iter()
            .zip(parts)
            .filter_map(|(guid, part)| Some((guid, (*part)?)))
    };
    let mut start = 24 * (present().count() + 1);
    let (mut directory, mut bodies) = (Vec::new(), Vec::new());
    for (guid, part) in present() {
        directory.extend_from_slice(&guid.to_be_bytes());
        directory.extend_from_slice(&(start as u32).to_le_bytes());
        directory.extend_from_slice(&(part.len() as u32).to_le_bytes());
        bodies.extend_from_slice(part);
        start += part.len();
    }
    [directory, vec![0; 24], bodies].concat()
}
