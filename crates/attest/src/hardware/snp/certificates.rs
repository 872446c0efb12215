//! AMD's chain: ARK → ASK → VCEK, or ARK → ASVK → VLEK. Other paths are refused.

use der::Decode;
use der::asn1::{Ia5StringRef, ObjectIdentifier};
use siegel_ident::Timestamp;

use super::report::SigningKey;
use super::tcb::{Product, TcbVersion};
use crate::hardware::x509::{Certificate, RevocationList, Window};
use crate::hardware::{Check, Endorsements, Rejection, TrustRoots};

const PRODUCT_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.2");
const BOOT_LOADER: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.3.1");
const TEE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.3.2");
const SNP: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.3.3");
const MICROCODE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.3.8");
const FMC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.3.9");
const HARDWARE_ID: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.4");
const PROVIDER_ID: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.3704.1.5");

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
    if !(2..=CERTIFICATES_MAX).contains(&found) {
        return Err(chain(format!(
            "{found} certificates are stapled, expected leaf, ASK or ASVK, and ARK"
        )));
    }
    let parse = |der: &Vec<u8>| Certificate::parse(der).map_err(chain);
    let leaf = parse(&endorsements.certificates[0])?;
    let others = endorsements.certificates[1..]
        .iter()
        .map(parse)
        .collect::<Result<Vec<_>, _>>()?;

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
    let root = by_name(format!("ARK-{}", product.in_certificates()))?;

    check_pinned(root, product, roots)?;
    root.verify_issued_by(root).map_err(chain)?;
    signer.verify_issued_by(root).map_err(chain)?;
    leaf.verify_issued_by(signer).map_err(chain)?;
    for certificate in [root, signer, &leaf] {
        certificate.check_valid(now).map_err(chain)?;
    }
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

fn intermediate(product: Product, key: SigningKey) -> String {
    match key {
        SigningKey::Vcek => format!("SEV-{}", product.in_certificates()),
        SigningKey::Vlek => format!("SEV-VLEK-{}", product.in_certificates()),
    }
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

fn read_leaf(leaf: &Certificate, key: SigningKey, product: Product) -> Result<Leaf, Rejection> {
    let bad = |detail: String| Rejection::new(Check::SnpChain, detail);
    let name = extension(leaf, PRODUCT_NAME)?;
    let name = name
        .and_then(|der| Ia5StringRef::from_der(der).ok())
        .map(|name| name.as_str().to_owned());
    // "Milan-B0" names a stepping, "Genoa" none.
    let is_product = name
        .as_deref()
        .is_some_and(|name| name.split('-').next() == Some(product.in_certificates()));
    if !is_product {
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
        reserved: [0; 4],
    };
    let provider = extension(leaf, PROVIDER_ID)?
        .map(|der| Ia5StringRef::from_der(der).map(|id| id.as_str().to_owned()))
        .transpose()
        .map_err(|e| bad(format!("provider id: {e}")))?;
    let hardware_id = extension(leaf, HARDWARE_ID)?.map(<[u8]>::to_vec);
    match (key, &hardware_id, &provider) {
        (SigningKey::Vcek, Some(_), _) | (SigningKey::Vlek, _, Some(_)) => {}
        (SigningKey::Vcek, None, _) => return Err(bad("VCEK names no chip".to_owned())),
        (SigningKey::Vlek, _, None) => return Err(bad("VLEK names no cloud provider".to_owned())),
    }
    Ok(Leaf {
        key,
        public_key: leaf.public_key().to_vec(),
        tcb,
        hardware_id,
        provider,
    })
}

fn extension(leaf: &Certificate, oid: ObjectIdentifier) -> Result<Option<&[u8]>, Rejection> {
    leaf.extension(oid)
        .map_err(|why| Rejection::new(Check::SnpChain, why))
}
