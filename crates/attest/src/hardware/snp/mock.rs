//! An SEV-SNP platform of our own, for tests: a root, an authority and a chip that exist only as files here. The
//! production verifier checks what it makes, against roots that the test sets; AMD's pinned roots refuse all of it (I1,
//! I11). Real reports cannot be signed again, so only this reaches every branch of a policy.

mod certificate;
mod crl;
mod der;
mod guest;
mod report;

pub use certificate::{Certificate, Extension};
pub use crl::{List, Revoked};
pub use guest::{chip, reference};
pub use report::{Draft, at};

use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PSS_SHA384, RsaKeyPair,
};
use siegel_ident::{Seconds, Timestamp};

use super::{Product, SigningKey, certificates as oids};
use crate::hardware::{Endorsements, Evidence, Kind, TrustRoots};

/// When the mock platform lives: 2025-12-01.
pub const NOW: Timestamp = Timestamp(1_764_547_200);
const DAY: u64 = 86_400;

const ARK: &[u8] = include_bytes!("mock/ark.pkcs8.der");
const ASK: &[u8] = include_bytes!("mock/ask.pkcs8.der");
const ASVK: &[u8] = include_bytes!("mock/asvk.pkcs8.der");

/// Something that the mock cannot make.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("mock SNP platform: {0} failed")]
pub struct MockError(pub(crate) &'static str);

/// An RSA key of the development vendor.
pub struct Authority(RsaKeyPair);

impl Authority {
    /// Of all products' roots.
    pub fn ark() -> Result<Self, MockError> {
        Self::read(ARK)
    }
    /// Of the authorities for chips.
    pub fn ask() -> Result<Self, MockError> {
        Self::read(ASK)
    }
    /// Of the authorities for cloud providers.
    pub fn asvk() -> Result<Self, MockError> {
        Self::read(ASVK)
    }

    fn read(pkcs8: &[u8]) -> Result<Self, MockError> {
        let pair = RsaKeyPair::from_pkcs8(pkcs8);
        pair.map(Self).map_err(|_| MockError("reading an RSA key"))
    }

    /// RSASSA-PSS with SHA-384.
    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, MockError> {
        let mut signature = vec![0; self.0.public().modulus_len()];
        self.0
            .sign(
                &RSA_PSS_SHA384,
                &SystemRandom::new(),
                message,
                &mut signature,
            )
            .map_err(|_| MockError("signing with RSA"))?;
        Ok(signature)
    }

    /// SubjectPublicKeyInfo.
    pub fn spki(&self) -> Vec<u8> {
        der::spki(
            &[der::oid("1.2.840.113549.1.1.1"), der::null()].concat(),
            self.0.public().as_ref(),
        )
    }
}

/// A chip or a cloud provider's key, its certificates, and the report that it signs. Every part can be changed before
/// [`Platform::evidence`] and [`Platform::endorsements`] sign it.
pub struct Platform {
    /// CPU generation.
    pub product: Product,
    /// The root.
    pub ark: Certificate,
    /// ASK or ASVK.
    pub signer: Certificate,
    /// VCEK or VLEK.
    pub leaf: Certificate,
    /// The root's revocation list.
    pub list: Option<List>,
    /// The report.
    pub report: Draft,
    key: SigningKey,
    chip: EcdsaKeyPair,
}

impl Platform {
    /// A platform in good order, with a fresh chip key.
    ///
    /// # Errors
    /// [`MockError`] if the random source fails.
    pub fn new(product: Product, key: SigningKey) -> Result<Self, MockError> {
        let chip = fresh_key()?;
        let name = product.in_certificates();
        let (ark, short, long) = match key {
            SigningKey::Vcek => (format!("ARK-{name}"), "SEV-VCEK", format!("SEV-{name}")),
            SigningKey::Vlek => (
                format!("ARK-{name}"),
                "SEV-VLEK",
                format!("SEV-VLEK-{name}"),
            ),
        };
        let authority = match key {
            SigningKey::Vcek => Authority::ask()?,
            SigningKey::Vlek => Authority::asvk()?,
        };
        let report = Draft::new(product, key);
        let mut leaf = Certificate::new(
            short,
            &long,
            p384_spki(&chip),
            leaf_extensions(&report, product, key),
        );
        leaf.serial = vec![0];
        Ok(Self {
            product,
            signer: Certificate::new(&long, &ark, authority.spki(), certificate::authority(false)),
            ark: Certificate::new(
                &ark,
                &ark,
                Authority::ark()?.spki(),
                certificate::authority(true),
            ),
            leaf,
            list: Some(List::new(&ark)),
            report,
            key,
            chip,
        })
    }

    /// The same platform at another time: certificates since a day and for a year, the list made a day ago.
    pub fn living_at(mut self, now: Timestamp) -> Self {
        let since = now.minus(Seconds(DAY));
        for certificate in [&mut self.ark, &mut self.signer, &mut self.leaf] {
            certificate.window = (since, now.plus(Seconds(365 * DAY)));
        }
        if let Some(list) = &mut self.list {
            list.made = since;
            list.next = Some(now.plus(Seconds(30 * DAY)));
        }
        self
    }

    /// The report, signed by the chip.
    ///
    /// # Errors
    /// [`MockError`] if signing fails.
    pub fn evidence(&self) -> Result<Evidence, MockError> {
        let mut body = self.report.bytes().to_vec();
        let signed = self.report.signed();
        let signature = self.chip.sign(&SystemRandom::new(), signed);
        let signature = signature.map_err(|_| MockError("signing with P-384"))?;
        let (r, s) = signature.as_ref().split_at(48);
        for (start, half) in [(0x2a0, r), (0x2e8, s)] {
            let little = half.iter().rev();
            body.iter_mut()
                .skip(start)
                .zip(little)
                .for_each(|(to, from)| *to = *from);
        }
        Ok(Evidence {
            kind: Kind::SevSnp,
            body,
        })
    }

    /// Leaf, signer and root, and the root's list.
    ///
    /// # Errors
    /// [`MockError`] if signing fails.
    pub fn endorsements(&self) -> Result<Endorsements, MockError> {
        let ark = Authority::ark()?;
        let authority = match self.key {
            SigningKey::Vcek => Authority::ask()?,
            SigningKey::Vlek => Authority::asvk()?,
        };
        let list = self.list.as_ref().map(|list| list.sign(&ark)).transpose()?;
        Ok(Endorsements {
            certificates: vec![
                self.leaf.sign(&authority)?,
                self.signer.sign(&ark)?,
                self.ark.sign(&ark)?,
            ],
            crls: list.into_iter().collect(),
            ..Endorsements::default()
        })
    }
}

/// Roots that trust the development vendor for every product, and nobody else.
///
/// # Errors
/// [`MockError`] if the committed key cannot be read.
pub fn roots() -> Result<TrustRoots, MockError> {
    let spki = Authority::ark()?.spki();
    let mut pin = [0; 32];
    pin.copy_from_slice(ring::digest::digest(&ring::digest::SHA256, &spki).as_ref());
    Ok(TrustRoots {
        amd: Product::ALL.map(|product| (product, pin)).to_vec(),
        ..TrustRoots::vendors()
    })
}

fn window() -> (Timestamp, Timestamp) {
    (NOW.minus(Seconds(DAY)), NOW.plus(Seconds(365 * DAY)))
}

fn fresh_key() -> Result<EcdsaKeyPair, MockError> {
    let (random, kind) = (SystemRandom::new(), &ECDSA_P384_SHA384_FIXED_SIGNING);
    let failed = MockError("making a P-384 key");
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(kind, &random).map_err(|_| failed.clone())?;
    EcdsaKeyPair::from_pkcs8(kind, pkcs8.as_ref(), &random).map_err(|_| failed)
}

fn p384_spki(pair: &EcdsaKeyPair) -> Vec<u8> {
    let algorithm = [der::oid("1.2.840.10045.2.1"), der::oid("1.3.132.0.34")].concat();
    der::spki(&algorithm, pair.public_key().as_ref())
}

/// The extensions of a VCEK or VLEK that agrees with `report`.
fn leaf_extensions(report: &Draft, product: Product, key: SigningKey) -> Vec<Extension> {
    let mut all = vec![Extension::new(
        oids::PRODUCT_NAME,
        der::ia5(product.in_certificates()),
    )];
    for (oid, level) in report.reported_levels(product) {
        all.push(Extension::new(oid, der::small(level)));
    }
    all.push(match key {
        SigningKey::Vcek => Extension::new(
            oids::HARDWARE_ID,
            report::CHIP
                .iter()
                .take(product.chip_id_len())
                .copied()
                .collect(),
        ),
        SigningKey::Vlek => Extension::new(oids::PROVIDER_ID, der::ia5("CN=mock.example")),
    });
    all
}
