//! The report, from what the run left behind.

use std::path::Path;

use siegel_endorse::Build;
use siegel_fleet::clients::UploadReport;
use siegel_fleet::cluster::Cluster;
use siegel_fleet::keeper::{Death, Incident};
use siegel_ident::ClusterId;
use siegel_policy::Policy;

use super::SimulateArgs;
use super::report::{
    BinaryPart, DeathPart, KmsPart, Metrics, OutputPart, PolicyPart, PrivacyPart, ProcessPart,
    Report, SimulatorOnly, Timing, Uploads,
};
use super::verdict::Audited;

/// What the report is made of.
pub(super) struct Parts<'a> {
    pub(super) args: &'a SimulateArgs,
    pub(super) run_id: String,
    pub(super) dir: &'a Path,
    pub(super) cluster: &'a Cluster,
    pub(super) build: Option<&'a Build>,
    pub(super) policy: &'a Policy,
    pub(super) log_index: u64,
    pub(super) clients: u64,
    pub(super) rounds: u64,
    pub(super) tally: UploadReport,
    pub(super) outputs: Vec<OutputPart>,
    pub(super) simulator_only: Option<SimulatorOnly>,
    pub(super) audit: Audited,
    pub(super) deaths: Vec<Incident>,
    pub(super) timing: Timing,
}

pub(super) fn report(parts: Parts<'_>) -> Report {
    let Parts {
        args,
        cluster,
        policy,
        ..
    } = parts;
    let (total, spent) = (policy.privacy.total, parts.audit.spent);
    Report {
        schema: "siegel/simulation/v1",
        run_id: parts.run_id,
        run_dir: parts.dir.display().to_string(),
        program: args.program.clone(),
        clients: parts.clients,
        rounds: parts.rounds,
        seed: args.seed,
        verdict: if parts.audit.part.ok {
            "good"
        } else {
            "not-trustworthy"
        }
        .into(),
        policy: PolicyPart {
            sha256: policy.digest().to_string(),
            log_index: parts.log_index,
            pipeline: policy.pipeline.clone(),
        },
        uploads: Uploads {
            accepted: parts.tally.accepted,
            duplicates: parts.tally.duplicates,
            refused: parts.tally.refused,
            bytes: parts.tally.bytes,
        },
        kms: KmsPart {
            nodes: cluster.kms().len() as u64,
            cluster_id: ClusterId::of(cluster.genesis()).to_string(),
        },
        privacy: PrivacyPart {
            epsilon: policy.privacy.epsilon.to_string(),
            delta: policy.privacy.delta.to_string(),
            rho: total.rho_nano.to_string(),
            delta0: total.delta0.0.to_string(),
            unit: "installation".into(),
            adjacency: "zero-out".into(),
            valid: args.seed.is_none(),
            budget_total: total.rho_nano.to_string(),
            budget_spent: spent.rho_nano.to_string(),
        },
        outputs: parts.outputs,
        metrics: Metrics {
            simulator_only: parts.simulator_only,
        },
        audit: parts.audit.part,
        binaries: cluster
            .measured()
            .iter()
            .map(|binary| BinaryPart {
                role: binary.part.as_str().to_owned(),
                sha256: binary.sha256.to_string(),
                reproducible: parts.build.is_some_and(Build::is_reproducible),
            })
            .collect(),
        processes: cluster
            .reports()
            .into_iter()
            .map(|process| ProcessPart {
                name: process.name,
                peak_rss_bytes: process.peak_rss_bytes,
                restarts: process.restarts.into(),
            })
            .collect(),
        deaths: parts.deaths.iter().map(death).collect(),
        timing: parts.timing,
        insecure_simulation: true,
        own_log: args.log.is_none(),
    }
}

fn death(incident: &Incident) -> DeathPart {
    let (ordered, why) = match &incident.why {
        Death::Ordered(kill) => (Some(kill.to_string()), None),
        Death::Unordered(why) => (None, Some(why.clone())),
    };
    DeathPart {
        process: incident.name.to_string(),
        ordered,
        why,
        at_s: incident.at.as_secs_f64(),
        away_s: incident.away.map(|away| away.as_secs_f64()),
        line: incident.to_string(),
    }
}
