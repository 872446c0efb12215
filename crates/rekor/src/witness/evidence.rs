//! What speaks against a log: two notes that it signed and that do not fit.

use std::fs;

use siegel_ident::Digest;

use crate::keyed::KeyedFolder;

/// Most pieces that are kept of a kind and log; the first ones stay.
const MOST: usize = 16;

/// How much two notes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Two roots for one size: by itself a proof that there are two logs.
    Fork,
    /// No proof came that leads from one to the other: whoever has both trees can tell.
    Unproven,
}

/// Two notes of one log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Evidence {
    pub(crate) kind: Kind,
    pub(crate) origin: String,
    /// What was cosigned here, with the cosignature.
    pub(crate) before: String,
    /// What was offered afterwards.
    pub(crate) other: String,
}

impl Evidence {
    /// Writes it into `evidence/`, once. Failing to is said in the log of the process only: nothing was
    /// cosigned, which is what others rely on.
    pub(crate) fn keep(&self, folder: &KeyedFolder) {
        let (kind, origin) = (self.kind, &self.origin);
        let short = |text: &str| Digest::of(text.as_bytes()).to_string().split_off(48);
        let family = match kind {
            Kind::Fork => format!("fork-{}-", short(origin)),
            Kind::Unproven => format!("unproven-{}-", short(origin)),
        };
        let name = format!(
            "{family}{}",
            short(&format!("{}{}", self.before, self.other))
        );
        let dir = folder.dir().join("evidence");
        let there: Vec<_> = fs::read_dir(&dir)
            .into_iter()
            .flatten()
            .flatten()
            .map(|file| file.file_name().to_string_lossy().into_owned())
            .filter(|other| other.starts_with(&family))
            .collect();
        let what = "a log offered a checkpoint that does not fit what was seen";
        let evidence = dir.join(&name).display().to_string();
        if there.contains(&name) {
            tracing::error!(?kind, %origin, %evidence, "{what}");
            return;
        }
        if there.len() >= MOST {
            let dir = dir.display();
            tracing::error!(?kind, %origin, %dir, "{what}; {MOST} pieces of evidence are kept already");
            return;
        }
        let text = format!("{}\n{}", self.before, self.other);
        match folder.put(&format!("evidence/{name}"), text.as_bytes()) {
            Ok(()) => tracing::error!(?kind, %origin, %evidence, "{what}"),
            Err(error) => {
                tracing::error!(?kind, %origin, %error, "{what}; the evidence could not be written");
            }
        }
    }
}
