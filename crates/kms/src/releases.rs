//! OpenRelease: public before readable (I17). The one key that leaves without an appraisal.

use siegel_ident::{ObjectDigest, RequestId, RunId, Secret, Step, Timestamp};
use siegel_ledger::{Done, Event, Ledger, Outcome, Refusal};
use siegel_platform::Platform;
use siegel_seal::object::{ObjectContext, unwrap_release_dek};

use crate::cluster::RunSecret;
use crate::grants::still_before;
use crate::member::Member;
use crate::refusal::Refused;

/// What unwrapping needs, copied out of the ledger.
struct Opening {
    secret: RunSecret,
    header: Vec<u8>,
    context: ObjectContext,
    expires: Timestamp,
}

impl Member {
    /// Has the cluster check the proof of the step's receipt, then unwraps that one object's DEK.
    pub(crate) async fn open_release(
        &self,
        platform: &Platform,
        request_id: RequestId,
        run: RunId,
        step: Step,
        bundle: Vec<u8>,
    ) -> Result<Secret<32>, Refused> {
        let event = Event::OpenRelease { run, step, bundle };
        let opening = self
            .replica
            .propose(request_id, platform.now(), event, move |ledger, outcome| {
                opening(ledger, outcome, run, step)
            })
            .await?;
        let (key, _) = self.cluster.release_kem(&opening.secret)?;
        let dek = unwrap_release_dek(&key, &opening.header, &opening.context);
        still_before(opening.expires, platform)?;
        dek.map_err(|error| {
            // The root sealed it to another key or context: nothing will ever open it.
            Refused::new("release-does-not-open", "I6", "release_header", error)
        })
    }
}

fn opening(ledger: &Ledger, outcome: Outcome, run: RunId, step: Step) -> Result<Opening, Refused> {
    match outcome {
        Outcome::Refused(refusal) => return Err(refusal.into()),
        Outcome::Done(Done::ReleaseOpened { run: r, step: s }) if (r, s) == (run, step) => {}
        Outcome::Done(_) => return Err(Refused::internal("release", "another outcome")),
    }
    let gone = || Refused::from(Refusal::NoRelease { run, step });
    let view = ledger.run(run).ok_or_else(gone)?;
    let release = ledger.release(run, step).ok_or_else(gone)?;
    let previous = ObjectDigest::from(release.previous);
    Ok(Opening {
        secret: RunSecret::of(&view),
        header: release.header.to_vec(),
        context: ObjectContext {
            run,
            step,
            previous,
        },
        expires: view.expires,
    })
}
