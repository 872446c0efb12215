//! What stands behind the intrinsics during one call.

use std::cell::RefCell;

use siegel_ident::{Budget, Step};
use siegel_program::{Bundle, Executor, Intrinsic, StepPlan};
use starlark::values::ProvidesStaticType;

use crate::DriverError;
use crate::fault::Tripwire;

/// One call's surroundings: intrinsics reach it through the evaluator.
#[derive(ProvidesStaticType)]
pub(crate) struct Machine<'m> {
    pub(crate) bundle: &'m Bundle,
    pub(crate) wire: Tripwire,
    /// True while no noisy value exists, so that Starlark's own messages may be shown.
    pub(crate) dry: bool,
    inner: RefCell<Inner<'m>>,
}

struct Inner<'m> {
    mode: Mode<'m>,
    fault: Option<DriverError>,
    notes: Vec<String>,
}

enum Mode<'m> {
    /// `init` and `finish`: no intrinsic.
    Pure,
    /// A step of a dry run: each intrinsic is priced and answers zeros.
    Planning {
        step: Step,
        budget: Budget,
        left: Budget,
        asked: Vec<Intrinsic>,
    },
    /// A step of a run: each intrinsic must be the plan's next.
    Running {
        step: Step,
        budget: Budget,
        plan: &'m StepPlan,
        next: usize,
        exec: &'m mut dyn Executor,
    },
}

/// Most lines that a dry run notes, and most characters of one.
const MAX_NOTES: usize = 100;
const MAX_NOTE: usize = 400;

impl<'m> Machine<'m> {
    /// For `init` and `finish`.
    pub(crate) fn pure(bundle: &'m Bundle, dry: bool) -> Self {
        Self::new(bundle, dry, Mode::Pure)
    }

    /// For a step of a dry run; earlier steps left `left` of the run's `budget`.
    pub(crate) fn planning(bundle: &'m Bundle, step: Step, budget: Budget, left: Budget) -> Self {
        Self::new(
            bundle,
            true,
            Mode::Planning {
                step,
                budget,
                left,
                asked: Vec::new(),
            },
        )
    }

    /// For a step of a run.
    pub(crate) fn running(
        bundle: &'m Bundle,
        step: Step,
        budget: Budget,
        plan: &'m StepPlan,
        exec: &'m mut dyn Executor,
    ) -> Self {
        Self::new(
            bundle,
            false,
            Mode::Running {
                step,
                budget,
                plan,
                next: 0,
                exec,
            },
        )
    }

    fn new(bundle: &'m Bundle, dry: bool, mode: Mode<'m>) -> Self {
        let inner = Inner {
            mode,
            fault: None,
            notes: Vec::new(),
        };
        Self {
            bundle,
            wire: Tripwire::default(),
            dry,
            inner: RefCell::new(inner),
        }
    }

    /// The run's whole budget, of which an intrinsic asks a share; `None` outside a step.
    pub(crate) fn budget(&self) -> Option<Budget> {
        match self.inner.borrow().mode {
            Mode::Pure => None,
            Mode::Planning { budget, .. } | Mode::Running { budget, .. } => Some(budget),
        }
    }

    /// Carries out an intrinsic with parameters `params` (none for a histogram), or prices it. The
    /// answer has one integer per bin or parameter.
    pub(crate) fn carry_out(
        &self,
        intrinsic: &Intrinsic,
        params: &[f32],
    ) -> Result<Vec<i64>, DriverError> {
        match &mut self.inner.borrow_mut().mode {
            Mode::Pure => Err(outside_step()),
            Mode::Planning {
                step, left, asked, ..
            } => {
                *left = left
                    .pay(intrinsic.cost())
                    .map_err(|source| DriverError::Budget {
                        step: *step,
                        source,
                    })?;
                asked.push(intrinsic.clone());
                Ok(vec![0; intrinsic.dimension()])
            }
            Mode::Running {
                step,
                plan,
                next,
                exec,
                ..
            } => {
                if plan.intrinsics.get(*next) != Some(intrinsic) {
                    return Err(DriverError::Deviates {
                        step: *step,
                        index: *next,
                    });
                }
                *next += 1;
                let answer = match intrinsic {
                    Intrinsic::Histogram(spec) => exec.dp_histogram(spec),
                    Intrinsic::ClippedSum(spec) => exec.dp_clipped_sum(spec, params),
                };
                let answer = answer.map_err(DriverError::Stopped)?;
                match answer.len() == intrinsic.dimension() {
                    true => Ok(answer),
                    false => Err(DriverError::OtherRelease),
                }
            }
        }
    }

    /// Ends a step of a run: nothing of the plan may be left undone, since it was paid for.
    pub(crate) fn end_run(self) -> Result<(), DriverError> {
        match self.inner.into_inner().mode {
            Mode::Running {
                step, plan, next, ..
            } if next != plan.intrinsics.len() => Err(DriverError::Deviates { step, index: next }),
            _ => Ok(()),
        }
    }

    /// Ends a step of a dry run: what it asked for.
    pub(crate) fn end_planning(self) -> (Vec<Intrinsic>, Vec<String>) {
        let inner = self.inner.into_inner();
        match inner.mode {
            Mode::Planning { asked, .. } => (asked, inner.notes),
            _ => (Vec::new(), inner.notes),
        }
    }

    /// Keeps a printed line of a dry run; at run time nothing that is printed goes anywhere.
    pub(crate) fn note(&self, line: &str) {
        let notes = &mut self.inner.borrow_mut().notes;
        if self.dry && notes.len() < MAX_NOTES {
            notes.push(line.chars().take(MAX_NOTE).collect());
        }
    }

    /// Remembers the first error of an intrinsic, which Starlark would turn into text.
    pub(crate) fn fail(&self, error: DriverError) {
        self.inner.borrow_mut().fault.get_or_insert(error);
    }

    /// Takes the first error, if there was one.
    pub(crate) fn take_fault(&self, line: Option<usize>) -> Option<DriverError> {
        if let Some((kind, attempt)) = self.wire.tripped() {
            return Some(DriverError::Kind {
                kind,
                attempt,
                line,
            });
        }
        self.inner.borrow_mut().fault.take()
    }
}

pub(crate) fn outside_step() -> DriverError {
    let what = "a DP intrinsic outside step(): only a step has clients".to_owned();
    DriverError::Form { line: None, what }
}
