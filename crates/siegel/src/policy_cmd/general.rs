//! The general Sigstore bundle of a published policy: for other people's clients, with a time stamp,
//! and a certificate in place of the key if one is given.

use siegel_policy::{Finding, Severity};
use siegel_rekor::{LogClient, RekorError, certificate_key, certificate_of_pem};
use siegel_translog::{Bundle, GeneralBundle, HashedRekord, ProofError, SpkiKey, Verifier};

use super::files;
use super::publish::PublishArgs;
use crate::failure::{Exit, Failure};

/// Longest PEM file of a certificate.
const MAX_PEM: usize = 64 * 1024;

/// The bundle, and what is to be said of it.
pub(super) struct General {
    pub(super) bytes: Vec<u8>,
    pub(super) timestamped: bool,
    pub(super) finding: Option<Finding>,
}

/// The certificate that is asked for, which must be the signing key's: checked before anything is
/// sent.
pub(super) fn certificate(args: &PublishArgs, key: &SpkiKey) -> Result<Option<Vec<u8>>, Failure> {
    let Some(path) = &args.certificate else {
        return Ok(None);
    };
    let at = path.display().to_string();
    let text = files::read_text(path, "certificate", MAX_PEM)?;
    let bad = |why: RekorError| Failure::usage("bad-certificate", &at, why, "");
    let der = certificate_of_pem(&text).map_err(bad)?;
    if certificate_key(&der).map_err(bad)? != *key {
        return Err(Failure::usage(
            "bad-certificate",
            &at,
            "the certificate is another key's than --key",
            "give the leaf certificate of the signing key",
        ));
    }
    Ok(Some(der))
}

/// The time stamp authority that is asked for; the log's own if none is.
pub(super) fn authority(args: &PublishArgs) -> Result<LogClient, Failure> {
    let url = args.tsa.as_ref().unwrap_or(&args.log);
    LogClient::new(url).map_err(|why| {
        let help = "name the URL before /api/v1/timestamp";
        Failure::usage("bad-tsa", url, why, help)
    })
}

/// Makes the bundle of the policy whose strict proof is `strict`.
pub(super) async fn bundle(
    args: &PublishArgs,
    log: &LogClient,
    tsa: &LogClient,
    strict: &[u8],
    certificate: Option<Vec<u8>>,
) -> Result<General, Failure> {
    let unread = |why: ProofError| Failure::failed("bundle", &args.log, why, "");
    let strict = Bundle::parse(strict).map_err(unread)?;
    let record = HashedRekord::parse(&strict.entry.canonicalized_body).map_err(unread)?;
    let mut bundle = GeneralBundle {
        envelope: strict.envelope,
        verifier: record.verifier,
        entry: strict.entry,
        timestamps: Vec::new(),
    };
    if let Some(der) = certificate {
        bundle.verifier = Verifier::Certificate(der);
        let record = HashedRekord::of_verifier(&bundle.envelope, bundle.verifier.clone());
        bundle.entry = log.submit_record(&record).await.map_err(|why| {
            let help = "the log may take no certificates; the strict proof is written";
            Failure::failed("log", &args.log, why, help)
        })?;
    }
    let timestamped = tsa.stamp(&mut bundle).await.map_err(|why| {
        let help = "the strict proof is written; name another authority with --tsa";
        Failure::failed("tsa", tsa.url(), why, help)
    })?;
    if !timestamped && args.tsa.is_some() {
        let why = "there is no time stamp authority at this URL";
        let help = "name the URL before /api/v1/timestamp; the strict proof is written";
        return Err(Failure::new(Exit::Failed, "tsa", tsa.url(), why, help));
    }
    Ok(General {
        bytes: bundle.to_json().map_err(unread)?,
        timestamped,
        finding: (!timestamped).then(no_timestamp),
    })
}

fn no_timestamp() -> Finding {
    Finding::new(
        Severity::Warning,
        "no-timestamp",
        "",
        "the log has no time stamp authority, so the general bundle has no time stamp: some clients \
         will refuse it; name one with --tsa",
    )
}
