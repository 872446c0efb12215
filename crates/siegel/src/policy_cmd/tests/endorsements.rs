//! Whose endorsements a policy demands, and what `show` finds of them in the log.

use siegel_audit::AuditAnchors;
use siegel_endorse::testing::of_policy;
use siegel_endorse::{Endorsement, Subject};
use siegel_ident::KeyDigest;
use siegel_rekor::{LogClient, PolicySigner};
use siegel_translog::Statement;

use super::super::endorsed::Endorsed;
use super::super::show::Shown;
use super::*;

const ORIGIN: &str = "log.example.test";
const END: Timestamp = Timestamp(NOW.0 + 86_400);

/// I3. The key that counts is the one that was named: by its file or by its digest.
#[test]
fn i3_build_takes_endorsers_by_file_or_digest() {
    let folder = Folder::new();
    let key = folder.path("endorser.pem");
    let digest = PolicySigner::load_or_create(&key).unwrap().key().digest();
    let build_with = |endorsers: &[String]| {
        let args = BuildArgs {
            endorsers: endorsers.to_vec(),
            force: true,
            ..folder.build_args()
        };
        build(&args, NOW)
    };
    let demanded = |endorsers: &[String]| {
        build_with(endorsers).unwrap();
        let policy = std::fs::read(folder.path("policy.json")).unwrap();
        AccessPolicy::parse(&policy).unwrap().endorsers.clone()
    };
    let file = key.display().to_string();
    assert_eq!(demanded(std::slice::from_ref(&file)), [digest]);
    assert_eq!(demanded(&[digest.to_string()]), [digest]);
    let mut both = [digest, KeyDigest::from_bytes([9; 32])];
    both.sort();
    assert_eq!(demanded(&[file, "09".repeat(32)]), both);

    let none = refusal(build_with(&[]), Exit::Usage, "bad-policy");
    assert!(none.contains("no endorser's key is given"), "{none}");
    folder.put("no-key.pem", b"hello");
    for wrong in ["no-key.pem", "absent.pem"] {
        let wrong = folder.path(wrong).display().to_string();
        refusal(build_with(&[wrong]), Exit::Usage, "bad-endorser");
    }
    refusal(build_with(&["09".repeat(31)]), Exit::Usage, "bad-endorser");
}

/// A policy that demands an endorser's voice, a served log in the folder `log` beside it, and anchors.
struct Told {
    folder: Folder,
    url: String,
    endorser: PolicySigner,
}

impl Told {
    async fn new() -> Self {
        let folder = Folder::new();
        let storage = Storage::folder(folder.path("log"));
        let (url, key) = serve_log_in(ORIGIN, &storage).await;
        let anchors = AuditAnchors::of(LogAnchors::unwitnessed(ORIGIN, key));
        folder.put("anchors.json", &serde_json::to_vec(&anchors).unwrap());
        let endorser = PolicySigner::generate().unwrap();
        let args = BuildArgs {
            endorsers: vec![endorser.key().digest().to_string()],
            ..folder.build_args()
        };
        build(&args, NOW).unwrap();
        Self {
            folder,
            url,
            endorser,
        }
    }

    /// Binaries, then the program.
    fn documents(&self) -> Vec<Endorsement> {
        let policy = std::fs::read(self.folder.path("policy.json")).unwrap();
        let mut all = of_policy(&AccessPolicy::parse(&policy).unwrap(), NOW, END);
        for one in &mut all {
            if let Subject::Binaries(binaries) = &mut one.subject {
                binaries.build = None;
            }
        }
        all
    }

    async fn say(&self, by: &PolicySigner, said: &Endorsement) {
        let document = said.to_bytes().unwrap();
        let statement = Statement::about(&said.name, &document, predicate::ENDORSEMENT);
        let envelope = by.sign(&statement).unwrap();
        let log = LogClient::new(&self.url).unwrap();
        log.publish(&envelope, &by.key(), &document).await.unwrap();
    }

    async fn publish_policy(&self) {
        let policy = std::fs::read(self.folder.path("policy.json")).unwrap();
        let statement = Statement::about("test", &policy, predicate::POLICY);
        let envelope = self.endorser.sign(&statement).unwrap();
        let log = LogClient::new(&self.url).unwrap();
        let key = self.endorser.key();
        log.publish(&envelope, &key, &policy).await.unwrap();
    }

    async fn show(&self, now: Timestamp) -> Shown {
        show(&self.folder.show_args(), now).await.unwrap()
    }
}

fn roles(shown: &Shown) -> Vec<(&str, usize)> {
    let role = |thing: &'_ Endorsed| thing.by.len();
    let all = shown.endorsed.as_deref().unwrap();
    all.iter().map(|t| (t.role.as_str(), role(t))).collect()
}

fn ids(shown: &Shown) -> Vec<&str> {
    let lint = ["simulation", "unwitnessed"];
    let findings = shown.findings().iter().map(|f| f.id.as_str());
    findings.filter(|id| !lint.contains(id)).collect()
}

/// I3, I9. Catches an endorsement that is missed or counted twice, a stranger's that counts, and one
/// that has ended and passes for good.
#[tokio::test]
async fn i3_show_says_who_has_endorsed_what_until_when() {
    let told = Told::new().await;
    let lint = told.show(NOW).await;
    assert_eq!(
        roles(&lint),
        [("kms", 0), ("root", 0), ("worker", 0), ("program", 0)]
    );
    assert!(ids(&lint).contains(&"binary-not-endorsed"));
    assert!(lint.text().contains(": nobody"), "{}", lint.text());

    let all = told.documents();
    let stranger = PolicySigner::generate().unwrap();
    told.say(&told.endorser, &all[0]).await;
    told.say(&stranger, &all[1]).await;
    let shown = told.show(NOW).await;
    assert_eq!(
        roles(&shown),
        [("kms", 1), ("root", 1), ("worker", 1), ("program", 1)]
    );
    assert!(ids(&shown).contains(&"program-not-endorsed"));
    let text = shown.text();
    assert!(text.contains("does not count under this policy"), "{text}");

    told.say(&told.endorser, &all[1]).await;
    let shown = told.show(NOW).await;
    assert_eq!(roles(&shown)[3], ("program", 2));
    let known = ids(&shown);
    assert!(!known.iter().any(|id| id.contains("endors")), "{known:?}");
    let by = &shown.endorsed.as_deref().unwrap()[0].by[0];
    let expected = (told.endorser.key().digest(), END, true, true);
    assert_eq!((by.endorser, by.not_after, by.holds, by.counts), expected);
    let text = shown.text();
    assert!(!text.contains("does not hold now"), "{text}");

    let late = told.show(END).await;
    assert!(ids(&late).contains(&"endorsement-expired"));
    assert!(late.text().contains("which does not hold now"));
    // A warning: whether a policy is good is not for `show` to say.
    assert_eq!(exit_of(late.findings()), Exit::Ok);
}

/// The log and anchors that are named, and no others; I1: not of another log.
#[tokio::test]
async fn i1_show_reads_only_the_log_of_the_anchors() {
    let told = Told::new().await;
    told.say(&told.endorser, &told.documents()[0]).await;
    let with = |log: Option<&str>, anchors: Option<&str>| ShowArgs {
        log: log.map(str::to_owned),
        anchors: anchors.map(|name| told.folder.path(name)),
        ..told.folder.show_args()
    };
    let by_url = show(&with(Some(&told.url), None), NOW).await.unwrap();
    assert_eq!(roles(&by_url)[0], ("kms", 1));

    let forged = AuditAnchors::of(LogAnchors::unwitnessed(ORIGIN, [0; 32]));
    told.folder
        .put("forged.json", &serde_json::to_vec(&forged).unwrap());
    let refused = show(&with(None, Some("forged.json")), NOW).await;
    refusal(refused, Exit::NotTrustworthy, "other-log");
    let other = AuditAnchors::of(LogAnchors::unwitnessed("other.example.test", [0; 32]));
    told.folder
        .put("other.json", &serde_json::to_vec(&other).unwrap());
    let refused = show(&with(None, Some("other.json")), NOW).await;
    refusal(refused, Exit::Usage, "other-log");

    std::fs::remove_file(told.folder.path("anchors.json")).unwrap();
    let refused = show(&with(Some(&told.url), None), NOW).await;
    assert!(refusal(refused, Exit::Usage, "no-log").contains("--anchors"));
    assert!(told.show(NOW).await.endorsed.is_none());
}

/// I1. Catches a policy that the log lacks, shown as if clients took it.
#[tokio::test]
async fn i1_show_says_that_a_policy_is_not_logged() {
    let told = Told::new().await;
    assert!(ids(&told.show(NOW).await).contains(&"policy-not-logged"));
    told.publish_policy().await;
    assert!(!ids(&told.show(NOW).await).contains(&"policy-not-logged"));
}

/// I1. Catches a stranger's endorsement shown to somebody who pins others.
#[tokio::test]
async fn i1_show_hears_only_pinned_endorsers() {
    let told = Told::new().await;
    told.say(&told.endorser, &told.documents()[0]).await;
    assert_eq!(roles(&told.show(NOW).await)[0], ("kms", 1));
    let path = told.folder.path("anchors.json");
    let mut anchors: AuditAnchors = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    anchors.endorsers = vec![KeyDigest::from_bytes([9; 32])];
    std::fs::write(&path, serde_json::to_vec(&anchors).unwrap()).unwrap();
    let shown = told.show(NOW).await;
    assert_eq!(roles(&shown)[0], ("kms", 0));
    assert!(ids(&shown).contains(&"binary-not-endorsed"));
}
