//! What proves which uploads a run read: small files for `siegel verify receipt` and `participation`.

use std::path::Path;

use siegel_fleet::deployment::Deployment;
use siegel_ident::EpochId;
use siegel_ledger::Fact;
use siegel_policy::Policy;
use siegel_program::input_root;

use super::folder;
use crate::failure::Failure;
use crate::verify::registration::{FOLDER, GENESIS, INPUTS, PROOF, RECEIPT};

/// Digests of some uploads, to try it with.
const SAMPLE: &str = "registration/uploads.txt";
const SAMPLE_SIZE: usize = 10;

/// Writes the folder `registration`: genesis, the receipt of the run's registration with its log proof,
/// the list of its inputs as it lies in the depot, and the digests of ten of them.
pub(super) async fn keep(
    deployment: &Deployment,
    policy: &Policy,
    epoch: EpochId,
    dir: &Path,
) -> Result<(), Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::failed("registration", FOLDER, why, "");
    let carried = deployment.trail.carried().iter().rev();
    let registered = carried.filter_map(|carried| match &carried.receipt.fact {
        Fact::RunRegistered { input_root, .. } => Some((carried, *input_root)),
        _ => None,
    });
    let Some((carried, root)) = registered.into_iter().next() else {
        return Err(failed(
            &"the cluster wrote no receipt of the run's registration",
        ));
    };
    let listed = deployment.operator.depot().list(policy.digest(), epoch);
    let inputs = listed.await.map_err(|why| failed(&why))?;
    if input_root(&inputs).map_err(|why| failed(&why))? != root {
        return Err(failed(&"the depot lists other uploads than the run registered").under("I2"));
    }
    let receipt = carried.receipt.to_bytes().map_err(|why| failed(&why))?;
    let list: Vec<u8> = inputs.iter().flat_map(|blob| *blob.as_bytes()).collect();
    let sample = inputs.iter().take(SAMPLE_SIZE);
    let sample: String = sample.map(|blob| format!("{blob}\n")).collect();
    folder::sub_folder(dir, FOLDER)?;
    for (name, bytes) in [
        (GENESIS, deployment.cluster.genesis()),
        (RECEIPT, &receipt),
        (PROOF, &carried.bundle),
        (INPUTS, &list),
    ] {
        folder::write(dir, &format!("{FOLDER}/{name}"), bytes)?;
    }
    folder::write(dir, SAMPLE, sample.as_bytes())?;
    Ok(())
}
