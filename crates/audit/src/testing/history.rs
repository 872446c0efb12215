//! What a real ledger writes: policies, epochs, runs that finish, are cancelled, abandoned, expire.

use siegel_attest::{KeyBundle, KeyOffer};
use siegel_endorse::testing::of_policy;
use siegel_endorse::{Endorsement, Manifest, Subject};
use siegel_ident::{Digest, EpochId, Fencing, PolicyDigest, Timestamp};
use siegel_ledger::{EndorsementProof, Event, Fact, Receipt};
use siegel_policy::AccessPolicy;
use siegel_rekor::{Log, Storage};
use siegel_translog::predicate;

use super::ledger::Asked;
use super::scene::{START, Scene, TTL, log_key, reference};
use super::{Quote, Vouch};

const RECIPE: &[u8] = b"target = \"x86-64-v3\"\n";

/// Fills the log with all but the receipts, as the scene is told, and returns what a real ledger
/// wrote over an honest log of the same key: 1 policy, 2 epoch, 3 run A, 4 taken, 5 step, 6 step,
/// 7 finished, 8 run B, 9 cancelled, 10 second policy, 11 epoch, 12 run C, 13 taken, 14 abandoned,
/// 15 run D, 16 expired, 17 and 18 epochs expired.
pub async fn lived(scene: &Scene) -> Vec<Receipt> {
    let indices = stage(scene).await;
    let mut receipts = receipts(scene).await;
    let mut indices = indices.into_iter();
    for receipt in &mut receipts {
        if let Fact::PolicyRegistered { log_index, .. } = &mut receipt.fact {
            *log_index = indices.next().unwrap();
        }
    }
    receipts
}

/// Logs genesis, program, endorsements, and each of two policies with the key offer of its epoch;
/// returns where the policies are.
pub async fn stage(scene: &Scene) -> Vec<u64> {
    scene.birth().await;
    scene.endorse().await;
    let first = scene.policy();
    let second = scene.successor(digest(&first));
    let mut indices = Vec::new();
    for (epoch, opened, policy) in [(1, START, first), (2, START + 100, second)] {
        let bytes = policy.to_bytes().unwrap();
        let (index, _) = scene
            .publish(&scene.author, predicate::POLICY, &bytes)
            .await;
        indices.push(index);
        scene.offer(digest(&policy), EpochId(epoch), opened).await;
    }
    indices
}

/// What the ledger writes where all is as it should be.
pub async fn receipts(scene: &Scene) -> Vec<Receipt> {
    let honest = Log::open(&Storage::Memory, log_key()).unwrap();
    let mut asked = Asked::new(scene);
    let proofs = scene.proofs(&honest).await;
    let first = register(scene, &honest, &mut asked, &scene.policy(), &proofs).await;
    let epoch = asked.epoch(first);
    let run = asked.start(scene, 1, first, epoch);
    let root = asked.root(scene);
    asked.done(Event::TakeRun { run, root });
    asked.commit(run);
    asked.commit(run);
    let (fencing, by) = (Fencing(1), vec![1; 32]);
    asked.done(Event::FinishRun { run, fencing, by });
    let run = asked.start(scene, 2, first, epoch);
    asked.done(Event::CancelRun { run });

    asked.now += 100;
    let second = scene.successor(first);
    let second = register(scene, &honest, &mut asked, &second, &proofs).await;
    let epoch = asked.epoch(second);
    let run = asked.start(scene, 3, second, epoch);
    let root = asked.root(scene);
    asked.done(Event::TakeRun { run, root });
    let (fencing, by) = (Fencing(1), vec![1; 32]);
    asked.done(Event::AbandonRun { run, fencing, by });
    asked.start(scene, 4, second, epoch);
    asked.now += 10_000;
    asked.done(Event::Tick {});
    asked.receipts()
}

async fn register(
    scene: &Scene,
    honest: &Log,
    asked: &mut Asked,
    policy: &AccessPolicy,
    proofs: &[EndorsementProof],
) -> PolicyDigest {
    let policy = policy.to_bytes().unwrap();
    let (_, bundle) = scene
        .publish_in(honest, &scene.author, predicate::POLICY, &policy)
        .await;
    let digest = PolicyDigest::of(&policy);
    let endorsements = proofs.to_vec();
    asked.done(Event::RegisterPolicy {
        policy,
        bundle,
        endorsements,
    });
    digest
}

impl Scene {
    /// Logs the endorsements of all that the policies let in, as told.
    pub async fn endorse(&self) {
        let mut vouch = self.vouched();
        (self.told.vouch)(&mut vouch);
        for bytes in [&vouch.manifest, &vouch.recipe].into_iter().flatten() {
            self.archive(bytes).await;
        }
        let signer = match vouch.by_stranger {
            true => &self.author,
            false => &self.endorser,
        };
        for document in &vouch.documents {
            let bytes = document.to_bytes().unwrap();
            self.publish(signer, predicate::ENDORSEMENT, &bytes).await;
        }
    }

    /// The honest endorsements in another log, as the ledger takes them.
    async fn proofs(&self, log: &Log) -> Vec<EndorsementProof> {
        let mut proofs = Vec::new();
        for document in self.vouched().documents {
            let document = document.to_bytes().unwrap();
            let (_, bundle) = self
                .publish_in(log, &self.endorser, predicate::ENDORSEMENT, &document)
                .await;
            proofs.push(EndorsementProof { document, bundle });
        }
        proofs
    }

    /// The honest endorsements: as long as the policies.
    pub fn vouched(&self) -> Vouch {
        let policy = self.policy();
        let manifest = manifest();
        let mut documents = of_policy(&policy, policy.not_before, policy.not_after);
        for build in documents.iter_mut().filter_map(build_of) {
            build.source = Digest::of(&manifest);
            build.recipe = Some(Digest::of(RECIPE));
        }
        Vouch {
            documents,
            by_stranger: false,
            manifest: Some(manifest),
            recipe: Some(RECIPE.to_vec()),
        }
    }

    /// Logs the key offer of an epoch, as told.
    pub async fn offer(&self, policy: PolicyDigest, epoch: EpochId, opened: u64) {
        let checkpoint = self.log.checkpoint();
        let bundle = KeyBundle {
            schema: KeyBundle::SCHEMA.to_owned(),
            cluster_id: self.id(),
            policy,
            epoch,
            suite: 1,
            kem_key: vec![epoch.0 as u8; 32],
            not_before: Timestamp(opened),
            expires: Timestamp(opened + TTL),
            checkpoint: Digest::of(checkpoint.as_bytes()),
        };
        let mut quote = Quote {
            bundle,
            measurement: reference("kms").measurement().unwrap(),
            issued_at: Timestamp(opened),
            checkpoint,
            by_stranger: false,
            logged: true,
        };
        (self.told.quote)(&mut quote);
        if quote.logged {
            let offer = self.quoted(quote).to_bytes().unwrap();
            self.publish(&self.author, predicate::KEY_OFFER, &offer)
                .await;
        }
    }

    fn quoted(&self, quote: Quote) -> KeyOffer {
        let bundle = quote.bundle.to_bytes().unwrap();
        let binding = quote.bundle.binding(&self.genesis).unwrap();
        let report_data = binding.report_data().unwrap();
        let evidence = self.attester.attest(
            quote.measurement,
            binding.config,
            report_data,
            quote.issued_at,
        );
        let signer = match quote.by_stranger {
            true => &self.author,
            false => &self.cluster,
        };
        KeyOffer {
            schema: KeyOffer::SCHEMA.to_owned(),
            signature: signer.sign_bundle(&bundle),
            bundle: String::from_utf8(bundle).unwrap(),
            evidence,
            checkpoint: quote.checkpoint,
        }
    }
}

/// The build that an endorsement of binaries names.
pub fn build_of(document: &mut Endorsement) -> Option<&mut siegel_endorse::Build> {
    match &mut document.subject {
        Subject::Binaries(binaries) => binaries.build.as_mut(),
        Subject::Program(_) => None,
    }
}

/// Canonical bytes of a source manifest.
fn manifest() -> Vec<u8> {
    let file = ("Cargo.toml".to_owned(), Digest::of(b"[workspace]"));
    Manifest::new([file].into()).unwrap().to_bytes().unwrap()
}

fn digest(policy: &AccessPolicy) -> PolicyDigest {
    PolicyDigest::of(&policy.to_bytes().unwrap())
}
