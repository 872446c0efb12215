//! The endorser of a test world.

use siegel_endorse::testing::of_policy;
use siegel_endorse::{Subject, Voice, endorsed_until};
use siegel_fleet::deployment::Deployment;
use siegel_policy::Policy;

/// Vouches for whatever a policy lets in, if that is not done yet: tests bend policies in ways that
/// no honest endorser would sign, and mean to be stopped by something else.
pub async fn vouch(deployment: &mut Deployment, policy: &Policy) {
    let now = deployment.cluster.clock().now();
    let anchors = deployment.log_anchors();
    let voice = |published: &siegel_operator::Published| {
        Voice::proved(&published.bytes, &published.bundle, &anchors, now).expect("a voice")
    };
    let voices = deployment.endorsements(policy).iter().map(voice);
    if endorsed_until(policy, &voices.collect::<Vec<_>>(), now).is_ok() {
        return;
    }
    for mut said in of_policy(policy, policy.not_before, policy.not_after) {
        if let Subject::Binaries(binaries) = &mut said.subject {
            // Its manifest would have to be in the archive.
            binaries.build = None;
        }
        deployment
            .endorse(&said, &[])
            .await
            .expect("an endorsement");
    }
}
