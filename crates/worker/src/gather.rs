//! Units of a question that is asked once: what the query takes of each upload, and nothing kept.

use std::sync::Arc;

use siegel_program::{Bundle, Record, Units};

use crate::inputs::{Batch, Batches};
use crate::job::Job;
use crate::open;
use crate::serve::Node;
use crate::stop::Stop;

/// Reads and opens all uploads, as for every question (what is fetched tells the depot nothing),
/// and drops each plaintext as soon as its unit has what the query takes of it. Memory grows with
/// that alone, not with the uploads.
pub(crate) async fn gathered(
    node: &Node,
    job: &Arc<Job>,
    bundle: &Arc<Bundle>,
) -> Result<Units, Stop> {
    let (grant, kept) = (&job.run.grant, &job.run.kept);
    let digests = kept.inputs(grant, &node.depot, &node.pool).await?;
    let mut units = job.question.units()?;
    let mut batches = Batches::new(digests, &node.depot);
    let mut next = batches.next().await?;
    while let Some(batch) = next {
        let gathering = gather_all(node, job, bundle, batch);
        let (parts, following) = tokio::try_join!(gathering, batches.next())?;
        parts.into_iter().for_each(|part| units.join(part));
        next = following;
    }
    Ok(units)
}

async fn gather_all(
    node: &Node,
    job: &Arc<Job>,
    bundle: &Arc<Bundle>,
    batch: Batch,
) -> Result<Vec<Units>, Stop> {
    let (job, bundle) = (job.clone(), bundle.clone());
    let gather = move |uploads: Vec<Vec<u8>>| {
        let query = job.question.query(&bundle).map_err(Stop::Program)?;
        let mut units = job.question.units()?;
        for (_, plaintext) in open::open_some(&job, &uploads)? {
            if let Ok(record) = Record::decode(plaintext.expose()) {
                units.add(&query, &job.run.index, &record);
            }
        }
        Ok(units)
    };
    node.pool.split(batch, gather).await
}
