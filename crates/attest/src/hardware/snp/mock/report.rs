//! Reports with any content.

use ::der::asn1::ObjectIdentifier;

use super::super::certificates as oids;
use super::super::{Product, REPORT_LEN, SigningKey};

/// Where fields stand.
pub mod at {
    #![allow(missing_docs, reason = "the names of the report's own fields")]
    pub const VERSION: usize = 0;
    pub const GUEST_SVN: usize = 4;
    pub const POLICY: usize = 8;
    pub const FAMILY_ID: usize = 0x10;
    pub const IMAGE_ID: usize = 0x20;
    pub const VMPL: usize = 0x30;
    pub const ALGORITHM: usize = 0x34;
    pub const CURRENT_TCB: usize = 0x38;
    pub const PLATFORM: usize = 0x40;
    pub const FLAGS: usize = 0x48;
    pub const REPORT_DATA: usize = 0x50;
    pub const MEASUREMENT: usize = 0x90;
    pub const HOST_DATA: usize = 0xc0;
    pub const ID_KEY: usize = 0xe0;
    pub const AUTHOR_KEY: usize = 0x110;
    pub const REPORT_ID: usize = 0x140;
    pub const MIGRATION_AGENT: usize = 0x160;
    pub const REPORTED_TCB: usize = 0x180;
    pub const CPU: usize = 0x188;
    pub const CHIP_ID: usize = 0x1a0;
    pub const COMMITTED_TCB: usize = 0x1e0;
    pub const CURRENT_FIRMWARE: usize = 0x1e8;
    pub const COMMITTED_FIRMWARE: usize = 0x1ec;
    pub const LAUNCH_TCB: usize = 0x1f0;
    pub const LAUNCH_MITIGATIONS: usize = 0x1f8;
    pub const CURRENT_MITIGATIONS: usize = 0x200;
}

/// The mock chip's id; Turin has the first eight bytes.
pub(crate) const CHIP: [u8; 64] = [0xc4; 64];
const SIGNED: usize = 0x2a0;

/// A report without its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft([u8; REPORT_LEN]);

impl Draft {
    /// A guest in good order: version 5, no debugging, alias check done, VMPL 0.
    pub(crate) fn new(product: Product, key: SigningKey) -> Self {
        let mut draft = Self([0; REPORT_LEN]);
        let (cpu, tcb): ([u8; 3], [u8; 8]) = match product {
            Product::Milan => ([25, 1, 1], [4, 1, 0, 0, 0, 0, 24, 219]),
            Product::Genoa => ([25, 17, 1], [10, 1, 0, 0, 0, 0, 25, 84]),
            Product::Turin => ([26, 2, 1], [1, 2, 1, 4, 0, 0, 0, 78]),
        };
        let flags = match key {
            SigningKey::Vcek => 0,
            SigningKey::Vlek => 1 << 2,
        };
        draft
            .put(at::VERSION, &[5])
            .put(at::POLICY, &0x3_0000u64.to_le_bytes())
            .put(at::ALGORITHM, &[1])
            .put(at::PLATFORM, &[0x25])
            .put(at::FLAGS, &[flags])
            .put(at::REPORT_DATA, &[0x5d; 64])
            .put(at::MEASUREMENT, &[0x3e; 48])
            .put(at::HOST_DATA, &[0x0d; 32])
            .put(at::REPORT_ID, &[0x1d; 32])
            .put(at::MIGRATION_AGENT, &[0xff; 32])
            .put(at::CPU, &cpu)
            .put(at::CURRENT_FIRMWARE, &[3, 55, 1])
            .put(at::COMMITTED_FIRMWARE, &[3, 55, 1])
            .put(at::LAUNCH_MITIGATIONS, &[1])
            .put(at::CURRENT_MITIGATIONS, &[1]);
        for place in [
            at::CURRENT_TCB,
            at::REPORTED_TCB,
            at::COMMITTED_TCB,
            at::LAUNCH_TCB,
        ] {
            draft.put(place, &tcb);
        }
        if key == SigningKey::Vcek {
            let chip: Vec<u8> = CHIP.into_iter().take(product.chip_id_len()).collect();
            draft.put(at::CHIP_ID, &chip);
        }
        draft
    }

    /// Writes bytes; what would stand past the end is left out.
    pub fn put(&mut self, at: usize, bytes: &[u8]) -> &mut Self {
        self.0
            .iter_mut()
            .skip(at)
            .zip(bytes)
            .for_each(|(to, from)| *to = *from);
        self
    }

    /// The bytes, without a signature.
    pub fn bytes(&self) -> &[u8; REPORT_LEN] {
        &self.0
    }

    pub(crate) fn signed(&self) -> &[u8] {
        self.0.split_at(SIGNED).0
    }

    /// The reported TCB as extensions of a certificate name it.
    pub(crate) fn reported_levels(&self, product: Product) -> Vec<(ObjectIdentifier, u8)> {
        let level = |part: usize| self.0.get(at::REPORTED_TCB + part).copied().unwrap_or(0);
        match product {
            Product::Milan | Product::Genoa => vec![
                (oids::BOOT_LOADER, level(0)),
                (oids::TEE, level(1)),
                (oids::SNP, level(6)),
                (oids::MICROCODE, level(7)),
            ],
            Product::Turin => vec![
                (oids::FMC, level(0)),
                (oids::BOOT_LOADER, level(1)),
                (oids::TEE, level(2)),
                (oids::SNP, level(3)),
                (oids::MICROCODE, level(7)),
            ],
        }
    }
}
