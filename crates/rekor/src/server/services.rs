//! What stands on one address.

use std::path::Path;

use crate::error::RekorError;
use crate::log::Log;
use crate::trusted_root::{RootFile, write_trusted_root};
use crate::tsa::TimestampAuthority;

/// A log with its archive, and perhaps a time stamp authority.
pub struct Services {
    /// The log.
    pub log: Log,
    /// The authority; without one its paths are not found.
    pub timestamps: Option<TimestampAuthority>,
    /// What became of the file of their trusted root, if one was asked for.
    pub root_file: Option<RootFile>,
}

impl From<Log> for Services {
    fn from(log: Log) -> Self {
        Self {
            log,
            timestamps: None,
            root_file: None,
        }
    }
}

impl Services {
    /// A log whose key is in `key_file`, and an authority whose key lies beside it, in
    /// `NAME.tsa.pem`; made if it is not there. Writes `trusted_root.json` into the same folder:
    /// what other Sigstore clients need to verify what both have signed. Somebody else's file of that name
    /// stays.
    ///
    /// # Errors
    /// As [`TimestampAuthority::load_or_create`] and [`write_trusted_root`].
    pub fn beside_key(log: Log, key_file: &Path) -> Result<Self, RekorError> {
        let anchors = log.anchors();
        let file = key_file.with_extension("tsa.pem");
        let timestamps = TimestampAuthority::load_or_create(&anchors.origin, &file)?;
        let root = key_file.with_file_name("trusted_root.json");
        let root_file = write_trusted_root(&root, &anchors, Some(&timestamps))?;
        Ok(Self {
            log,
            timestamps: Some(timestamps),
            root_file: Some(root_file),
        })
    }
}
