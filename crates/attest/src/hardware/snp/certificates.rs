//! AMD's chain: ARK → ASK → VCEK, or ARK → ASVK → VLEK. Other paths are refused.

use der::Decode;
use der::asn1::{Ia5StringRef, ObjectIdentifier};
use siegel_ident::Timestamp;

use super::report::SigningKey;
use super::tcb::{Product, TcbVersion};
use crate::hardware::x509::{Certificate, RevocationList, Window};
use crate::hardware::{Check, Endorsements, Rejection, TrustRoots};

pub(crate) const PRODUCT_NAME: ObjectIdentifier =
    ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.2");
pub(crate) const BOOT_LOADER: ObjectIdentifier =
    ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.3.1");
pub(crate) const TEE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.3.2");
pub(crate) const SNP: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.3.3");
pub(crate) const MICROCODE: ObjectIdentifier =
    ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.3.8");
/// Parts that no product uses so far.
pub(crate) const UNUSED: [ObjectIdentifier; 4] = [
    ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.3.4"),
    ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.3.5"),
    ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.3.6"),
    ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.3.7"),
];
pub(crate) const FMC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.3.9");
pub(crate) const HARDWARE_ID: ObjectIdentifier =
    ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.4");
pub(crate) const PROVIDER_ID: ObjectIdentifier =
    ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.5");

/// Most certificates stapled to a report: leaf, ASK, ASVK, ARK.
const CERTIFICATES_MAX: usize = 4;

/// A verified chain to a pinned root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) product: Product,
    pub(crate) leaf: Leaf,
    /// What the stapled list says, if one was stapled; it was verified and revokes none of the chain.
    pub(crate) crl: Option<Window>,
    /// The end of the earliest window of certificates and list.
    pub(crate) valid_until: Timestamp,
}

/// What the signing certificate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub(crate) key: SigningKey,
    pub(crate) public_key: Vec<u8>,
    pub(crate) tcb: TcbVersion,
    /// VCEK: the chip; 64 bytes, from Turin on 8.
    pub(crate) hardware_id: Option<Vec<u8>>,
    /// VLEK: the cloud provider.
    pub(crate) provider: Option<String>,
}

/// Verifies the stapled chain at `now`.
///
/// # Errors
/// [`Check::SnpChain`], [`Check::SnpProduct`], [`Check::SnpCrl`].
pub(crate) fn verify(
    endorsements: &Endorsements,
    roots: &TrustRoots,
    now: Timestamp,
) -> Result<Chain, Rejection> {
    let chain = |detail: String| Rejection::new(Check::SnpChain, detail);
    let found = endorsements.certificates.len();
    let (leaf, others) = endorsements
        .certificates
        .split_first()
        .filter(|_| (3..=CERTIFICATES_MAX).contains(&found))
        .ok_or_else(|| {
            chain(format!(
                "{found} certificates are stapled, expected leaf, ASK or ASVK, and ARK"
            ))
        })?;
    let parse = |der: &Vec<u8>| Certificate::parse(der).map_err(chain);
    let leaf = parse(leaf)?;
    let others = others.iter().map(parse).collect::<Result<Vec<_>, _>>()?;

    let key = match leaf.name().as_str() {
        "SEV-VCEK" => SigningKey::Vcek,
        "SEV-VLEK" => SigningKey::Vlek,
        other => {
            return Err(chain(format!(
                "leaf is {other}, expected SEV-VCEK or SEV-VLEK"
            )));
        }
    };
    let product = Product::ALL
        .into_iter()
        .find(|product| leaf.issuer_name() == intermediate(*product, key))
        .ok_or_else(|| {
            chain(format!(
                "leaf was issued by {}, which is no {key} authority",
                leaf.issuer_name()
            ))
        })?;
    let by_name = |name: String| {
        let missing = format!("certificate {name} is not stapled");
        others
            .iter()
            .find(|one| one.name() == name)
            .ok_or_else(|| chain(missing))
    };
    let signer = by_name(intermediate(product, key))?;
    let root = by_name(root_name(product))?;

    check_pinned(root, product, roots)?;
    check_stapled(&others, product).map_err(chain)?;
    leaf.verify_issued_by(signer).map_err(chain)?;
    leaf.check_amd().map_err(chain)?;
    for certificate in &others {
        // Also an authority that this leaf does not need: nothing stapled goes unverified.
        certificate.verify_issued_by(root).map_err(chain)?;
        certificate.check_amd().map_err(chain)?;
    }
    for certificate in [root, signer, &leaf] {
        certificate.check_valid(now).map_err(chain)?;
    }
    leaf.check_p384_key().map_err(chain)?;
    let crl = verify_crls(&endorsements.crls, root, &[root, signer], now)?;
    let windows = [root, signer, &leaf]
        .map(Certificate::window)
        .into_iter()
        .chain(crl);
    let valid_until = windows.map(|window| window.until).min().unwrap_or(now);
    Ok(Chain {
        product,
        leaf: read_leaf(&leaf, key, product)?,
        crl,
        valid_until,
    })
}

fn root_name(product: Product) -> String {
    format!("ARK-{}", product.in_certificates())
}

fn intermediate(product: Product, key: SigningKey) -> String {
    match key {
        SigningKey::Vcek => format!("SEV-{}", product.in_certificates()),
        SigningKey::Vlek => format!("SEV-VLEK-{}", product.in_certificates()),
    }
}

/// Each authority of the product at most once, and nothing else.
fn check_stapled(others: &[Certificate], product: Product) -> Result<(), String> {
    let expected = [
        intermediate(product, SigningKey::Vcek),
        intermediate(product, SigningKey::Vlek),
        root_name(product),
    ];
    for (i, name) in others.iter().map(Certificate::name).enumerate() {
        if !expected.contains(&name) {
            return Err(format!("{name} is stapled and has no place in the chain"));
        }
        if others.iter().take(i).any(|other| other.name() == name) {
            return Err(format!("{name} is stapled twice"));
        }
    }
    Ok(())
}

/// I1: the root is the verifier's own, known by its key; a stapled root proves nothing by itself.
fn check_pinned(root: &Certificate, product: Product, roots: &TrustRoots) -> Result<(), Rejection> {
    let found = root
        .spki_sha256()
        .map_err(|why| Rejection::new(Check::SnpChain, why))?;
    match roots.amd.contains(&(product, found)) {
        true => Ok(()),
        false => Err(Rejection::new(
            Check::SnpChain,
            format!("{} is not the pinned root of {product} (I1)", root.name()),
        )),
    }
}

/// Stapled lists must be the root's, current, and silent about the chain. The ARK's list speaks of
/// certificates that the ARK issued.
fn verify_crls(
    ders: &[Vec<u8>],
    root: &Certificate,
    issued: &[&Certificate],
    now: Timestamp,
) -> Result<Option<Window>, Rejection> {
    let bad = |detail: String| Rejection::new(Check::SnpCrl, detail);
    let [der] = ders else {
        return match ders.len() {
            0 => Ok(None),
            found => Err(bad(format!(
                "{found} revocation lists are stapled, expected one"
            ))),
        };
    };
    let list = RevocationList::parse(der).map_err(bad)?;
    list.verify_issued_by(root).map_err(bad)?;
    let window = list.window();
    if !window.contains(now) {
        return Err(bad(format!(
            "revocation list is valid from {} to {}, now is {now}",
            window.from, window.until
        )));
    }
    match issued.iter().find(|one| list.revokes(one.serial())) {
        Some(revoked) => Err(bad(format!("{} is revoked", revoked.name()))),
        None => Ok(Some(window)),
    }
}

pub(crate) fn read_leaf(
    leaf: &Certificate,
    key: SigningKey,
    product: Product,
) -> Result<Leaf, Rejection> {
    let bad = |detail: String| Rejection::new(Check::SnpChain, detail);
    let name = text(leaf, PRODUCT_NAME)?;
    if name.as_deref().and_then(Product::of_certificate) != Some(product) {
        let found = name.unwrap_or_else(|| "nothing".to_owned());
        return Err(Rejection::new(
            Check::SnpProduct,
            format!("certificate's product is {found}, its issuer is for {product}"),
        ));
    }
    let level = |oid| -> Result<u8, Rejection> {
        let der = extension(leaf, oid)?
            .ok_or_else(|| bad(format!("certificate has no extension {oid}")))?;
        u8::from_der(der).map_err(|e| bad(format!("extension {oid}: {e}")))
    };
    let tcb = TcbVersion {
        fmc: match product {
            Product::Turin => Some(level(FMC)?),
            Product::Milan | Product::Genoa => None,
        },
        boot_loader: level(BOOT_LOADER)?,
        tee: level(TEE)?,
        snp: level(SNP)?,
        microcode: level(MICROCODE)?,
    };
    for oid in UNUSED {
        if extension(leaf, oid)?.is_some() && level(oid)? != 0 {
            return Err(bad(format!(
                "certificate has a patch level {oid}, which this build does not know"
            )));
        }
    }
    let provider = text(leaf, PROVIDER_ID)?.filter(|id| !id.is_empty());
    let hardware_id = extension(leaf, HARDWARE_ID)?
        .map(|value| hardware_id(value, product))
        .transpose()?;
    match (key, &hardware_id, &provider) {
        (SigningKey::Vcek, Some(_), None) | (SigningKey::Vlek, None, Some(_)) => {}
        (SigningKey::Vcek, ..) => {
            return Err(bad("VCEK names no chip, or a cloud provider".to_owned()));
        }
        (SigningKey::Vlek, ..) => {
            return Err(bad("VLEK names no cloud provider, or a chip".to_owned()));
        }
    }
    Ok(Leaf {
        key,
        public_key: leaf.public_key().to_vec(),
        tcb,
        hardware_id,
        provider,
    })
}

/// The chip, bare or (as newer certificates have it) in an OCTET STRING.
fn hardware_id(value: &[u8], product: Product) -> Result<Vec<u8>, Rejection> {
    let expected = product.chip_id_len();
    let id = match value {
        [0x04, len, id @ ..] if value.len() != expected && usize::from(*len) == id.len() => id,
        id => id,
    };
    Some(id)
        .filter(|id| id.len() == expected)
        .map(<[u8]>::to_vec)
        .ok_or_else(|| {
            let detail = format!("certificate's hardware id is not of {expected} bytes");
            Rejection::new(Check::SnpChain, detail)
        })
}

/// An extension that is an IA5String. It is printed for people, so control characters are refused.
fn text(leaf: &Certificate, oid: ObjectIdentifier) -> Result<Option<String>, Rejection> {
    let Some(der) = extension(leaf, oid)? else {
        return Ok(None);
    };
    match Ia5StringRef::from_der(der) {
        Ok(text) if text.as_str().chars().all(|c| !c.is_control()) => {
            Ok(Some(text.as_str().to_owned()))
        }
        _ => {
            let detail = format!("extension {oid} is not printable text");
            Err(Rejection::new(Check::SnpChain, detail))
        }
    }
}

fn extension(leaf: &Certificate, oid: ObjectIdentifier) -> Result<Option<&[u8]>, Rejection> {
    leaf.extension(oid)
        .map_err(|why| Rejection::new(Check::SnpChain, why))
}
