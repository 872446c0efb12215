//! A device: its secret, its account, and the one place where data is sealed.

use rand_core::CryptoRng;
use ring::hmac;
use siegel_ident::{
    BlobDigest, BlobId, Budget, PrivacyId, Secret, SecretBytes, Timestamp, Transcript,
};
use siegel_policy::ColumnKind;
use siegel_program::record::{Column, Record};
use siegel_seal::seal_upload;

use crate::{
    ClientConfig, ClientRefusal, DeviceRefusal, Odometer, Offer, SeenLogs, VerifiedPolicy, Words,
    verify,
};

/// What a device puts into one column. Plaintext: no `Debug`.
#[derive(Clone, Copy)]
pub enum Content<'a> {
    /// For a column of kind `words`.
    Words(&'a Words),
    /// For a column of kind `text`.
    Text(&'a str),
    /// For a column of kind `floats`: rows one after the other.
    Floats(&'a [f32]),
}

impl<'a> Content<'a> {
    /// The kind of column that it fits.
    pub const fn kind(&self) -> ColumnKind {
        match self {
            Self::Words(_) => ColumnKind::Words,
            Self::Text(_) => ColumnKind::Text,
            Self::Floats(_) => ColumnKind::Floats,
        }
    }

    fn column(&self, name: &'a str) -> Column<'a> {
        match self {
            Self::Words(words) => Column::words(name, words.iter().collect()),
            Self::Text(text) => Column::text(name, text),
            Self::Floats(floats) => Column::floats(name, floats.to_vec()),
        }
    }
}

/// One installation. Its secret never leaves it, and is the same for all pipelines and for ever:
/// whoever loses it is a new user to every pipeline.
pub struct Device {
    secret: Secret<32>,
    odometer: Odometer,
    seen: SeenLogs,
    cap: Budget,
}

impl Device {
    /// A device with its stored secret and account. `cap` comes from its configuration.
    pub fn new(secret: Secret<32>, odometer: Odometer, cap: Budget) -> Self {
        Self {
            secret,
            odometer,
            seen: SeenLogs::new(),
            cap,
        }
    }

    /// The same device with what it has stored of the logs that it saw.
    #[must_use]
    pub fn with_seen(mut self, seen: SeenLogs) -> Self {
        self.seen = seen;
        self
    }

    /// A device on its first day.
    pub fn generate(rng: &mut impl CryptoRng, cap: Budget) -> Self {
        let mut secret = zeroize::Zeroizing::new([0u8; 32]);
        rng.fill_bytes(&mut *secret);
        Self::new(Secret::new(*secret), Odometer::new(), cap)
    }

    /// The account so far; to be stored before an upload is sent.
    pub fn odometer(&self) -> &Odometer {
        &self.odometer
    }

    /// What it has seen of logs; to be stored with the odometer.
    pub fn seen(&self) -> &SeenLogs {
        &self.seen
    }

    /// Checks an offer as [`verify()`] does, and that the log has not gone back behind what this device
    /// has seen of it (I1); then remembers what it saw.
    ///
    /// # Errors
    /// [`ClientRefusal`]; nothing is remembered then.
    pub fn verify(
        &mut self,
        config: &ClientConfig,
        offer: &Offer<'_>,
        now: Timestamp,
    ) -> Result<VerifiedPolicy, ClientRefusal> {
        let verified = verify(config, offer, now)?;
        let sights = &verified.sights;
        for (size, root) in &sights.proofs {
            self.seen.compare(&sights.log, *size, *root)?;
        }
        let (size, root) = sights.checkpoint;
        self.seen.advance(sights.log, size, root)?;
        Ok(verified)
    }

    /// The pseudonym of this device under a pipeline: HMAC-SHA256(secret, label ‖ pipeline). Two
    /// pipelines cannot be joined by it (I4). `ring` keeps a copy of the key that is not zeroised.
    pub fn privacy_id(&self, pipeline: &str) -> PrivacyId {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.secret.expose());
        let message = Transcript::new("siegel/privacy-id/v1").field(pipeline.as_bytes());
        let mut id = [0u8; PrivacyId::LEN];
        id.copy_from_slice(hmac::sign(&key, message.as_bytes()).as_ref());
        PrivacyId::from_bytes(id)
    }

    /// Charges the pipeline's total (once), encodes the columns with this device's privacy id, and
    /// seals them to the verified key. The result is to be kept and sent again as it is on a retry:
    /// sealing twice would make two uploads (I4).
    ///
    /// `now` is the device's clock. `columns` are all columns of the policy, in any order. The blob
    /// id is random.
    ///
    /// # Errors
    /// [`DeviceRefusal`]; the account is charged only if everything before sealing was in order.
    pub fn seal_record(
        &mut self,
        rng: &mut impl CryptoRng,
        verified: &VerifiedPolicy,
        columns: &[(&str, Content<'_>)],
        now: Timestamp,
    ) -> Result<Upload, DeviceRefusal> {
        let (policy, expires) = (verified.policy(), verified.expires());
        if now >= expires {
            return Err(DeviceRefusal::Expired { expires, now });
        }
        check_columns(verified, columns)?;
        let record = self.encode(&policy.pipeline, columns)?;
        let total = policy.privacy.total;
        self.odometer
            .charge(verified.cluster(), &policy.pipeline, total, self.cap)?;
        let mut blob = [0u8; 16];
        rng.fill_bytes(&mut blob);
        let blob = BlobId::from_bytes(blob);
        let context = verified.upload_context();
        let bytes = seal_upload(rng, verified.key(), &context, blob, &record)?;
        Ok(Upload {
            blob,
            digest: BlobDigest::of(&bytes),
            bytes,
        })
    }

    fn encode(
        &self,
        pipeline: &str,
        columns: &[(&str, Content<'_>)],
    ) -> Result<SecretBytes, DeviceRefusal> {
        let columns = columns.iter().map(|(name, content)| content.column(name));
        let record = Record {
            privacy_id: self.privacy_id(pipeline),
            columns: columns.collect(),
        };
        record.encode().map_err(DeviceRefusal::Record)
    }
}

/// One sealed upload. Opaque, and the same bytes at every try.
#[derive(Clone, PartialEq, Eq)]
pub struct Upload {
    blob: BlobId,
    digest: BlobDigest,
    bytes: Vec<u8>,
}

impl Upload {
    /// Its public id, chosen by this device.
    pub fn blob(&self) -> BlobId {
        self.blob
    }
    /// SHA-256 of its bytes: its identity, which the depot must answer with.
    pub fn digest(&self) -> BlobDigest {
        self.digest
    }
    /// What is sent.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

fn check_columns(
    verified: &VerifiedPolicy,
    columns: &[(&str, Content<'_>)],
) -> Result<(), DeviceRefusal> {
    let sorted = |mut names: Vec<(String, ColumnKind)>| {
        names.sort_unstable();
        names
    };
    let found = columns
        .iter()
        .map(|(name, content)| ((*name).to_owned(), content.kind()));
    let found = sorted(found.collect());
    let schema = &verified.policy().input.columns;
    let expected = sorted(schema.iter().map(|c| (c.name.clone(), c.kind)).collect());
    if found == expected {
        Ok(())
    } else {
        Err(DeviceRefusal::Columns { found, expected })
    }
}

#[cfg(test)]
mod tests;
