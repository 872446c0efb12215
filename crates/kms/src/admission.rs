//! The leader's side of a replacement: who asks is appraised on the session, must be what genesis lets
//! in, and gets the secrets only after the log has given it an id and a dead member's place (I10).

use rand_core::Rng as _;
use siegel_ident::{NodeId, RequestId};
use siegel_ledger::{Done, Event, Joiner, Ledger, Members, Outcome};
use siegel_seal::{KemPublic, Suite};
use siegel_session::Peer;
use siegel_wire::v1;

use crate::member::{Member, Process};
use crate::refusal::Refused;
use crate::welcome::Welcome;

impl Member {
    /// Lets a process in, or says why not.
    pub(crate) async fn admit(
        &self,
        process: &Process,
        peer: &Peer,
        place: NodeId,
    ) -> Result<v1::Welcome, Refused> {
        let joiner = self.joiner(peer, place)?;
        let kem = kem_of(&joiner)?;
        let (platform, key) = (&process.platform, joiner.signing_key);
        let vacancy = self.replica.vacancy(place, key).await?;
        let event = Event::Admit {
            joiner,
            leaves: vacancy.leaves,
            over: vacancy.over,
        };
        let mut request = [0u8; 16];
        platform.rng().fill_bytes(&mut request);
        let request = RequestId::from_bytes(request);
        let (id, members) = self
            .replica
            .propose(request, platform.now(), event, admitted)
            .await?;
        let failed = |cause: &dyn std::fmt::Display| Refused::internal("welcome", cause);
        let welcome = Welcome {
            cluster: &self.cluster,
            members: &members,
            id,
            leader: process.identity.signing_key(),
            joiner: &key,
        };
        let sealed_secrets = welcome
            .seal(&kem, &mut platform.rng())
            .map_err(|error| failed(&error))?;
        let signature = self
            .cluster
            .credential(id, place, &key)
            .map_err(|error| failed(&error))?;
        tracing::info!(%place, member = %id, leaves = %vacancy.leaves, "admitted");
        Ok(v1::Welcome {
            genesis: self.cluster.genesis_bytes().to_vec(),
            sealed_secrets,
            credential: Some(v1::Credential {
                member_id: id.0,
                place: place.0,
                signature,
            }),
        })
    }

    /// The fields of the appraisal; each replica checks them again.
    fn joiner(&self, peer: &Peer, place: NodeId) -> Result<Joiner, Refused> {
        let refuse = |message| Refused::new("not-appraised", "I10", "evidence", message);
        let appraisal = peer
            .appraisal()
            .ok_or_else(|| refuse("this session brought no evidence that was appraised"))?;
        let joiner = Joiner::of(appraisal, place)
            .ok_or_else(|| refuse("the evidence binds no cluster, or is not of a KMS node"))?;
        if joiner.cluster != self.cluster.id() {
            return Err(refuse("the evidence binds another cluster"));
        }
        Ok(joiner)
    }
}

/// Secrets between peers are sealed under suite 2, or not sent.
fn kem_of(joiner: &Joiner) -> Result<KemPublic, Refused> {
    let bad = |cause: &dyn std::fmt::Display| Refused::new("bad-kem-key", "I3", "evidence", cause);
    let kem = KemPublic::parse(&joiner.kem_key).map_err(|error| bad(&error))?;
    match kem.suite() {
        Suite::XWing => Ok(kem),
        _ => Err(bad(&"the per-boot KEM key must be of suite 2 (X-Wing)")),
    }
}

fn admitted(ledger: &Ledger, outcome: Outcome) -> Result<(NodeId, Members), Refused> {
    match outcome {
        Outcome::Done(Done::Admitted { member }) => Ok((member, ledger.members().clone())),
        Outcome::Refused(refusal) => Err(refusal.into()),
        Outcome::Done(_) => Err(Refused::internal("admission", "another outcome")),
    }
}
