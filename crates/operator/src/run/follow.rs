//! One stream of one root.

use std::fmt;

use siegel_ident::{InputRoot, ObjectDigest, RunId, Step};
use siegel_link::{LinkError, status_to_refusal};
use siegel_wire::v1::{self, root_client::RootClient, run_event::Body};
use tonic::Status;

use super::course::{News, Registered};
use super::{CommittedStep, Course, Lookout, RunEvent, RunOrder};
use crate::{Operator, OperatorError};

/// How a stream ended.
pub(super) enum Followed {
    /// With the run.
    Finished,
    /// Before it.
    Broken(Broken),
}

/// Why a root says nothing for now.
#[derive(Debug)]
pub(super) enum Broken {
    /// It is dead, hangs, or its stream broke.
    Away(String),
    /// It is there, and busy with a run: perhaps with this one, that nobody follows any more.
    Busy(v1::Refusal),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Away(why) => f.write_str(why),
            Self::Busy(refusal) => f.write_str(&refusal.message),
        }
    }
}

impl From<Broken> for OperatorError {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Away(why) => Self::Root(why),
            Broken::Busy(refusal) => stopped(refusal),
        }
    }
}

impl Operator {
    /// Orders the run, or its resumption if it is registered, and follows the stream.
    pub(super) async fn follow(
        &self,
        order: &RunOrder,
        lookout: &mut Lookout,
        course: &mut Course,
        on_event: &mut impl FnMut(&RunEvent),
    ) -> Result<Followed, OperatorError> {
        let mut root = RootClient::new(self.net.channel(&self.root));
        let mut events = match root.run(order.to_wire(course.run())).await {
            Ok(reply) => reply.into_inner(),
            Err(status) => return broken(status),
        };
        loop {
            let event = match events.message().await {
                Ok(Some(event)) => event,
                Ok(None) => {
                    let why = "its stream ended before the run did";
                    return Ok(Followed::Broken(Broken::Away(why.into())));
                }
                Err(status) => return broken(status),
            };
            match event.body {
                Some(Body::Registered(event)) => {
                    let resumed_after = Step(event.resumed_after);
                    let event = course.registered(read_registered(&event)?)?;
                    event.iter().for_each(&mut *on_event);
                    if resumed_after > course.last() {
                        self.fill(order, lookout, course, resumed_after, on_event)
                            .await?;
                    }
                }
                Some(Body::Progress(p)) => on_event(&RunEvent::Progress {
                    phase: p.phase,
                    done: p.done,
                    total: p.total,
                }),
                Some(Body::Step(step)) => {
                    let step = read_step(step)?;
                    if let News::Gap = tell(course.committed(step.clone())?, on_event) {
                        let before = Step(step.step.0.saturating_sub(1));
                        self.fill(order, lookout, course, before, on_event).await?;
                        tell(course.committed(step)?, on_event);
                    }
                }
                // It ended while nobody followed it: the receipts have the rest.
                Some(Body::Failed(refusal)) if refusal.code == "run-over" => {
                    self.catch_up(order, lookout, course, on_event).await?;
                    return match course.is_over() {
                        true => Ok(Followed::Finished),
                        false => Err(stopped(refusal)),
                    };
                }
                Some(Body::Failed(refusal)) => return Err(stopped(refusal)),
                Some(Body::Finished(_)) => {
                    course.finish();
                    return Ok(Followed::Finished);
                }
                None => return Err(OperatorError::document("run event", "empty")),
            }
        }
    }

    /// Steps that were committed before this root, and never reported.
    async fn fill(
        &self,
        order: &RunOrder,
        lookout: &mut Lookout,
        course: &mut Course,
        until: Step,
        on_event: &mut impl FnMut(&RunEvent),
    ) -> Result<(), OperatorError> {
        self.catch_up(order, lookout, course, on_event).await?;
        match course.run().filter(|_| course.last() < until) {
            None => Ok(()),
            Some(run) => Err(OperatorError::NoReceipt {
                run,
                step: Step(course.last().0 + 1),
            }),
        }
    }
}

fn tell(news: News, on_event: &mut impl FnMut(&RunEvent)) -> News {
    if let News::Next(event) = &news {
        on_event(event);
    }
    news
}

/// A root that refuses is believed; one that is away is waited for.
fn broken(status: Status) -> Result<Followed, OperatorError> {
    match status_to_refusal(&status) {
        Some(refusal) if refusal.code == "busy" => Ok(Followed::Broken(Broken::Busy(refusal))),
        Some(refusal) => Err(stopped(refusal)),
        None => {
            let why = status.message().to_owned();
            match LinkError::from(status).is_away() {
                true => Ok(Followed::Broken(Broken::Away(why))),
                false => Err(OperatorError::Root(why)),
            }
        }
    }
}

fn read_registered(event: &v1::RunRegistered) -> Result<Registered, OperatorError> {
    let ids = RunId::try_from_slice(&event.run_id)
        .zip(InputRoot::try_from_slice(&event.input_root))
        .ok_or(OperatorError::document(
            "run event",
            "registered without a run id or input root",
        ))?;
    Ok(Registered {
        run: ids.0,
        input_root: ids.1,
        blobs: event.blob_count,
    })
}

fn read_step(step: v1::StepCommitted) -> Result<CommittedStep, OperatorError> {
    let release = match step.release.as_slice() {
        [] => None,
        bytes => {
            let digest = ObjectDigest::try_from_slice(bytes).ok_or(OperatorError::document(
                "run event",
                "release digest of a wrong length",
            ))?;
            Some((step.release_name, digest))
        }
    };
    Ok(CommittedStep {
        step: Step(step.step),
        release,
    })
}

fn stopped(refusal: v1::Refusal) -> OperatorError {
    OperatorError::Stopped {
        code: refusal.code,
        invariant: refusal.invariant,
        place: refusal.r#where,
        message: refusal.message,
    }
}
