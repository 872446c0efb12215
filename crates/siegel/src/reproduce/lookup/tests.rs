//! Lookups in a log of the test's own.

use siegel_attest::{ReferenceValue, simulated};
use siegel_endorse::testing::of_policy;
use siegel_endorse::{Build, Subject};
use siegel_policy::testing::sample;
use siegel_rekor::{Log, LogKey, PolicySigner, Storage};
use siegel_translog::{HashedRekord, Statement};

use super::*;

const NOW: Timestamp = Timestamp(1000);
const RECIPE: &str = "a recipe";

struct World {
    log: Log,
    signer: PolicySigner,
    manifest: Vec<u8>,
    policy: Policy,
}

/// Of the files that `of_policy` endorses.
fn policy() -> AccessPolicy {
    let measured = |role: &str| {
        let (file, argv0) = (Digest::of(role.as_bytes()), format!("siegel-{role}"));
        vec![ReferenceValue::simulated(simulated::measurement(
            file,
            &[&argv0],
            &[],
        ))]
    };
    let mut policy = sample();
    policy.kms.reference_values = measured("kms");
    policy.roles.root.reference_values = measured("root");
    policy.roles.worker.reference_values = measured("worker");
    policy
}

impl World {
    fn new() -> Self {
        let seed = siegel_ident::Secret::new([5; 32]);
        let key = LogKey::from_seed("log.example.org", &seed).unwrap();
        let files = [("Cargo.toml".to_owned(), Digest::of(b"x"))];
        Self {
            log: Log::open(&Storage::Memory, key).unwrap(),
            signer: PolicySigner::generate().unwrap(),
            manifest: Manifest::new(files.into()).unwrap().to_bytes().unwrap(),
            policy: policy().compile().unwrap(),
        }
    }

    fn source(&self) -> Source {
        Source {
            reader: LogReader::Open(self.log.clone()),
            anchors: AuditAnchors::of(self.log.anchors()),
        }
    }

    async fn archive(&self, bytes: &[u8]) {
        self.log
            .archive_put(Digest::of(bytes), bytes.to_vec())
            .await
            .unwrap();
    }

    async fn publish(&self, artifact: &[u8]) {
        self.publish_as(predicate::ENDORSEMENT, artifact).await;
    }

    async fn publish_as(&self, kind: &str, artifact: &[u8]) {
        let statement = Statement::about("test", artifact, kind);
        let envelope = self.signer.sign(&statement).unwrap();
        self.archive(artifact).await;
        self.archive(&envelope.pae()).await;
        let record = HashedRekord::of(&envelope, &self.signer.key());
        self.log.submit(&record).await.unwrap();
    }

    /// The binaries of the policy, with this said of the build.
    async fn endorse(&self, change: impl FnOnce(&mut Option<Build>)) {
        let mut endorsement = of_policy(&self.policy, Timestamp(500), Timestamp(2000)).remove(0);
        if let Subject::Binaries(binaries) = &mut endorsement.subject {
            let build = binaries.build.as_mut().unwrap();
            build.source = Digest::of(&self.manifest);
            build.recipe = Some(Digest::of(RECIPE.as_bytes()));
            change(&mut binaries.build);
        }
        self.publish(&endorsement.to_bytes().unwrap()).await;
        self.publish_as(predicate::POLICY, self.policy.bytes())
            .await;
    }

    async fn archive_build(&self) {
        self.archive(&self.manifest).await;
        self.archive(RECIPE.as_bytes()).await;
    }
}

fn ids(looked: &Looked) -> Vec<&str> {
    looked
        .findings
        .iter()
        .map(|finding| finding.id.as_str())
        .collect()
}

#[tokio::test]
async fn a_policy_leads_to_binaries_manifest_and_recipe() {
    let world = World::new();
    world.archive_build().await;
    world.endorse(|_| ()).await;
    let looked = world.source().policy(&world.policy, NOW).await.unwrap();
    assert_eq!(ids(&looked), ["log-unwitnessed"]);
    let expected = looked.expected.unwrap();
    assert_eq!(expected.recipe.as_deref(), Some(RECIPE));
    assert_eq!(
        expected.manifest.unwrap().to_bytes().unwrap(),
        world.manifest
    );
    let names: Vec<_> = expected.files.iter().map(|file| &*file.name).collect();
    assert_eq!(names, ["siegel-kms", "siegel-root", "siegel-worker"]);
    let endorsement = looked.endorsement.unwrap();
    assert_eq!(endorsement.endorser, world.signer.key().digest());
    assert_eq!(endorsement.log_index, 0);
}

/// Catches: a build that nobody stated, taken for stated.
#[tokio::test]
async fn i3_without_a_build_there_is_nothing_to_repeat() {
    let world = World::new();
    let nobody = world.source().policy(&world.policy, NOW).await.unwrap();
    assert!(nobody.expected.is_none() && ids(&nobody).contains(&"not-endorsed"));
    world.publish(b"{}").await;
    let broken = world.source().policy(&world.policy, NOW).await.unwrap();
    assert!(broken.expected.is_none() && ids(&broken).contains(&"endorsement-unreadable"));
    world.endorse(|build| *build = None).await;
    let unnamed = world.source().policy(&world.policy, NOW).await.unwrap();
    assert!(unnamed.expected.is_none() && ids(&unnamed).contains(&"build-not-named"));
    assert!(unnamed.endorsement.is_some());
}

/// I3. Catches: a good file rebuilt, while the policy lets in another that only measures as stated.
#[tokio::test]
async fn i3_an_endorser_cannot_give_a_file_anothers_measurement() {
    let mut world = World::new();
    let mut rules = policy();
    rules.roles.worker.reference_values[0] =
        ReferenceValue::simulated(siegel_ident::Measurement::of(b"evil"));
    world.policy = rules.compile().unwrap();
    world.archive_build().await;
    world.endorse(|_| ()).await;
    let looked = world.source().policy(&world.policy, NOW).await.unwrap();
    assert_eq!(ids(&looked), ["log-unwitnessed", "measurement-not-of-file"]);
    assert_eq!(looked.findings[1].severity, Severity::Error);
    assert!(looked.findings[1].message.contains("siegel-worker"));
}

/// I1. Catches: a policy that the log lacks, shown as if clients took it.
#[tokio::test]
async fn i1_a_policy_that_is_not_logged_is_said() {
    let world = World::new();
    world.archive_build().await;
    world.endorse(|_| ()).await;
    let mut rules = policy();
    rules.min_blobs += 1;
    let other = rules.compile().unwrap();
    let looked = world.source().policy(&other, NOW).await.unwrap();
    assert_eq!(ids(&looked), ["policy-not-logged", "log-unwitnessed"]);
    assert_eq!(looked.findings[0].severity, Severity::Error);
}

/// I1. Catches: a stranger's endorsement rebuilt by somebody who pins others.
#[tokio::test]
async fn i1_only_pinned_endorsers_count() {
    let world = World::new();
    world.archive_build().await;
    world.endorse(|_| ()).await;
    let mut source = world.source();
    source.anchors.endorsers = vec![world.signer.key().digest()];
    let pinned = source.policy(&world.policy, NOW).await.unwrap();
    assert!(pinned.expected.is_some());
    source.anchors.endorsers = vec![siegel_ident::KeyDigest::of(b"another")];
    let looked = source.policy(&world.policy, NOW).await.unwrap();
    assert!(looked.expected.is_none() && ids(&looked).contains(&"other-endorser"));
    let file = pinned.expected.unwrap().files[0].sha256;
    assert!(source.digest(file, NOW).await.unwrap().expected.is_none());
}

/// Catches: a lookup that stops, or says nothing, where manifest and recipe are withheld.
#[tokio::test]
async fn withheld_documents_are_said() {
    let world = World::new();
    world.endorse(|_| ()).await;
    let looked = world.source().policy(&world.policy, NOW).await.unwrap();
    let expected = ["log-unwitnessed", "manifest-withheld", "recipe-withheld"];
    assert_eq!(ids(&looked), expected);
    let stated = looked.expected.unwrap();
    assert!(stated.manifest.is_none() && stated.recipe.is_none());
}

/// By the policy's digest, by a binary's, and by one that nobody knows.
#[tokio::test]
async fn a_digest_names_a_policy_or_a_binary() {
    let world = World::new();
    world.archive_build().await;
    world.endorse(|_| ()).await;
    let source = world.source();
    world.archive(world.policy.bytes()).await;
    let digest = Digest::of(world.policy.bytes());
    let policy = source.digest(digest, NOW).await.unwrap();
    assert_eq!(policy.policy, Some(world.policy.digest()));
    let binary = policy.expected.unwrap().files[1].sha256;
    let by_binary = source.digest(binary, NOW).await.unwrap();
    assert!(by_binary.policy.is_none() && by_binary.expected.is_some());
    let nothing = source.digest(Digest::of(b"?"), NOW).await.unwrap();
    assert!(nothing.expected.is_none() && ids(&nothing).contains(&"not-endorsed"));
}

/// I1. Catches: endorsements believed from a log that is not the pinned one.
#[tokio::test]
async fn i1_another_log_is_exit_3() {
    let world = World::new();
    let mut source = world.source();
    source.anchors.log.key = [1; 32];
    let failure = source.policy(&world.policy, NOW).await.unwrap_err();
    assert_eq!(
        (failure.exit, failure.invariant.as_deref()),
        (3, Some("I1"))
    );
    let mut rules = policy();
    rules.log.origin = "log.example.net".into();
    let other = rules.compile().unwrap();
    let looked = world.source().policy(&other, NOW).await.unwrap();
    assert!(ids(&looked).contains(&"other-log"));
}

#[test]
fn what_stands_beside_the_policy_is_the_default() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |log, anchors, file| {
        let failure = Source::open(log, anchors, file).err().unwrap();
        assert_eq!(failure.exit, 2, "{}", failure.message);
        (failure.code.to_string(), failure.at.to_string())
    };
    let file = dir.path().join("policy.json");
    let (code, at) = refused(None, None, Some(&*file));
    assert!(code == "no-such-log" && at == dir.path().join("log").display().to_string());
    assert_eq!(refused(None, None, None), ("no-log".into(), "--log".into()));
    let url = Some("http://127.0.0.1:9");
    assert_eq!(
        refused(url, None, None),
        ("no-log".into(), "--anchors".into())
    );
    let (code, at) = refused(url, None, Some(&*file));
    assert!(
        code == "cannot-read" && at.ends_with("anchors.json"),
        "{code} {at}"
    );
}
