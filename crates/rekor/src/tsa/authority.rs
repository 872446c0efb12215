//! The authority itself: its key, its chain, its clock.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use der::Decode as _;
use ring::rand::{SecureRandom as _, SystemRandom};
use siegel_ident::{SecretBytes, Timestamp};
use x509_cert::Certificate;

use super::certificate::{self, Plan};
use super::query::Query;
use super::token;
use crate::certificate::{certificate_key, to_pem};
use crate::error::RekorError;
use crate::pem;
use crate::signer::{self, PolicySigner};

/// How long before its making a chain is valid: clocks are set back, if only by a little.
const EARLIER: u64 = 3_600;
/// How long a chain is valid: ten years.
const LIFE: u64 = 10 * 365 * 86_400;

/// Tells the time.
pub(crate) type Clock = Box<dyn Fn() -> Timestamp + Send + Sync>;

/// A time stamp authority with a two-certificate chain. The root's key is thrown away once it has
/// signed: nobody can make a second authority under it. No `Debug`: it holds the private key.
pub struct TimestampAuthority {
    signer: PolicySigner,
    leaf: Certificate,
    leaf_der: Vec<u8>,
    root_der: Vec<u8>,
    clock: Clock,
}

impl TimestampAuthority {
    /// A fresh authority that is written nowhere. `organization` names it, as the log's origin does.
    ///
    /// # Errors
    /// [`RekorError::Authority`], [`RekorError::Key`] if the system has no randomness.
    pub fn generate(organization: &str) -> Result<Self, RekorError> {
        Self::new(Files::make(organization, system_time())?)
    }

    /// Reads key and chain from a file, or makes them there (readable by its owner only).
    ///
    /// # Errors
    /// As [`Self::generate`]; [`RekorError::Key`] for a file that holds something else;
    /// [`RekorError::Io`].
    pub fn load_or_create(organization: &str, path: &Path) -> Result<Self, RekorError> {
        if let Some(text) = pem::read_text(path)? {
            let files = Files::parse(&text, path)?;
            return Self::new(files).map_err(|_| pem::wrong(path, "key and chain do not match"));
        }
        let files = Files::make(organization, system_time())?;
        pem::create_text(path, &files.to_pem())?;
        Self::new(files)
    }

    /// The same with another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// The certificates in DER: that of the signing key, then the root.
    pub fn chain(&self) -> [&[u8]; 2] {
        [&self.leaf_der, &self.root_der]
    }

    /// The same as PEM.
    pub fn chain_pem(&self) -> String {
        to_pem(&self.leaf_der) + &to_pem(&self.root_der)
    }

    /// Since when the chain is valid.
    pub fn valid_from(&self) -> Timestamp {
        let validity = &self.leaf.tbs_certificate.validity;
        Timestamp(validity.not_before.to_unix_duration().as_secs())
    }

    fn valid_to(&self) -> Timestamp {
        let validity = &self.leaf.tbs_certificate.validity;
        Timestamp(validity.not_after.to_unix_duration().as_secs())
    }

    /// Answers a request, which is DER or JSON, with a `TimeStampResp`.
    ///
    /// # Errors
    /// [`RekorError::Timestamp`] for a request that cannot be granted; [`RekorError::Authority`] if
    /// the clock is outside the chain's validity.
    pub fn answer(&self, request: &[u8]) -> Result<Vec<u8>, RekorError> {
        let query = Query::parse(request)?;
        let now = (self.clock)();
        if now < self.valid_from() || now > self.valid_to() {
            let message = format!("its chain is not valid now ({now}): check the clock");
            return Err(RekorError::Authority(message));
        }
        token::reply(&query, now, &serial()?, &self.signer, &self.leaf)
    }

    fn new(files: Files) -> Result<Self, RekorError> {
        let Files { pkcs8, leaf, root } = files;
        let bad = |why: &str| RekorError::Authority(why.to_owned());
        let signer = PolicySigner::from_pkcs8(pkcs8.expose(), Path::new("time stamp key"))?;
        if certificate_key(&leaf)? != signer.key() {
            return Err(bad("the certificate is another key's"));
        }
        certificate_key(&root)?;
        let parse = |der| Certificate::from_der(der).map_err(|e| bad(&e.to_string()));
        let (certificate, above) = (parse(&leaf)?, parse(&root)?);
        if certificate.tbs_certificate.issuer != above.tbs_certificate.subject {
            return Err(bad("the second certificate is not the first one's issuer"));
        }
        Ok(Self {
            signer,
            leaf: certificate,
            leaf_der: leaf,
            root_der: root,
            clock: Box::new(system_time),
        })
    }
}

/// What the file holds.
struct Files {
    pkcs8: SecretBytes,
    leaf: Vec<u8>,
    root: Vec<u8>,
}

impl Files {
    fn make(organization: &str, now: Timestamp) -> Result<Self, RekorError> {
        let plan = Plan {
            organization,
            not_before: Timestamp(now.0.saturating_sub(EARLIER)),
            not_after: Timestamp(now.0.saturating_add(LIFE)),
        };
        let root_key = PolicySigner::generate()?;
        let pkcs8 = signer::new_pkcs8()?;
        let key = PolicySigner::from_pkcs8(pkcs8.as_ref(), Path::new("(new)"))?.key();
        Ok(Self {
            pkcs8: SecretBytes::new(pkcs8.as_ref().to_vec()),
            leaf: certificate::leaf(&plan, &root_key, &key, &serial()?)?,
            root: certificate::root(&plan, &root_key, &serial()?)?,
        })
    }

    fn to_pem(&self) -> SecretBytes {
        let key = pem::block(signer::LABEL, self.pkcs8.expose());
        let mut text = key.expose().to_vec();
        text.extend_from_slice(to_pem(&self.leaf).as_bytes());
        text.extend_from_slice(to_pem(&self.root).as_bytes());
        SecretBytes::new(text)
    }

    fn parse(text: &SecretBytes, path: &Path) -> Result<Self, RekorError> {
        let blocks = pem::blocks(text, path)?;
        let labels: Vec<&str> = blocks.iter().map(|(label, _)| label.as_str()).collect();
        if labels != [signer::LABEL, "CERTIFICATE", "CERTIFICATE"] {
            return Err(pem::wrong(
                path,
                "expected a private key and two certificates",
            ));
        }
        let [(_, pkcs8), (_, leaf), (_, root)] =
            <[_; 3]>::try_from(blocks).map_err(|_| pem::wrong(path, "expected three blocks"))?;
        Ok(Self {
            pkcs8,
            leaf: leaf.expose().to_vec(),
            root: root.expose().to_vec(),
        })
    }
}

/// A serial number of 16 random bytes: positive, and without a leading zero byte.
fn serial() -> Result<[u8; 16], RekorError> {
    let mut bytes = [0; 16];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| signer::no_randomness())?;
    let [first, ..] = &mut bytes;
    *first = *first & 0x3f | 0x40;
    Ok(bytes)
}

fn system_time() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp(since.map_or(0, |duration| duration.as_secs()))
}
