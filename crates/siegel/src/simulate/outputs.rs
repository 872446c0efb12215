//! What a run released: files, and what they say.

use std::path::Path;

use siegel_ident::{Digest, Step};
use siegel_program::plan::StepPlan;
use siegel_program::{Plan, Shape, Table, Tensors};

use super::model::Model;
use super::report::OutputPart;
use super::{folder, rehearse};
use crate::failure::Failure;

/// Sub-folder of what steps before the last released.
const EARLIER: &str = "rounds";

/// Everything that a run has in the end, in the order of the steps.
#[derive(Default)]
pub(super) struct Released {
    pub(super) outputs: Vec<OutputPart>,
    pub(super) tables: Vec<Table>,
    pub(super) models: Vec<Model>,
}

impl Released {
    /// Keeps one opened release: its file, and its content by the plan's shape.
    pub(super) fn keep(
        &mut self,
        dir: &Path,
        plan: &Plan,
        step: Step,
        plain: &[u8],
        receipt: u64,
    ) -> Result<(), Failure> {
        let planned = plan
            .step(step)
            .and_then(|step: &StepPlan| step.release.as_ref());
        let Some(planned) = planned else {
            let message = format!("step {} released something that is not in its plan", step.0);
            return Err(Failure::failed("bad-release", "run", message, ""));
        };
        let last = step.0 == u64::from(plan.rounds);
        let file = file_name(&planned.name, &planned.shape, (!last).then_some(step));
        let bad = |why: siegel_program::ProgramError| {
            Failure::failed("bad-release", &file, why, "the root's log says more")
        };
        if !last {
            folder::sub_folder(dir, EARLIER)?;
        }
        let path = folder::write(dir, &file, plain)?;
        match &planned.shape {
            Shape::Table { .. } => {
                let csv = std::str::from_utf8(plain)
                    .map_err(|why| Failure::failed("bad-release", &file, why, ""))?;
                self.tables
                    .push(Table::from_csv(&planned.name, csv).map_err(bad)?);
            }
            // Without a training step nothing tells which model these are; they are kept all the same.
            Shape::Tensors { .. } => {
                if let Some(spec) = rehearse::training(plan) {
                    let tensors = Tensors::from_safetensors(&planned.name, &spec.model, plain);
                    let tensors = tensors.map_err(bad)?;
                    self.models.push(Model { step, tensors });
                }
            }
        }
        self.outputs.push(OutputPart {
            name: planned.name.clone(),
            step: step.0,
            path: path.display().to_string(),
            sha256: Digest::of(plain).to_string(),
            receipt,
        });
        Ok(())
    }
}

/// The last release by its name; earlier ones in a sub-folder, with the step's number.
fn file_name(name: &str, shape: &Shape, earlier: Option<Step>) -> String {
    let ending = match shape {
        Shape::Table { .. } => "csv",
        Shape::Tensors { .. } => "safetensors",
    };
    match earlier {
        None => format!("{name}.{ending}"),
        Some(Step(step)) => format!("{EARLIER}/{name}-{step:04}.{ending}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::shipped::choose;
    use super::*;

    // Catches a release that is overwritten by a later one, or read as another model's.
    #[test]
    fn every_release_has_a_file_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let plan = rehearse::plan(&choose("next-char", None).unwrap(), 3, 9).unwrap();
        let spec = rehearse::training(&plan).unwrap();
        let mut released = Released::default();
        for step in 1..=3_u8 {
            let params = vec![f32::from(step); spec.dimension()];
            let tensors = Tensors::of("next-char", &spec.model, &params).unwrap();
            let bytes = tensors.to_safetensors().unwrap();
            let step = Step(step.into());
            released.keep(dir.path(), &plan, step, &bytes, 7).unwrap();
        }
        let root = dir.path();
        let files = [
            "rounds/next-char-0001",
            "rounds/next-char-0002",
            "next-char",
        ];
        for ((file, output), model) in files.iter().zip(&released.outputs).zip(&released.models) {
            let path = root.join(format!("{file}.safetensors"));
            let bytes = std::fs::read(&path).unwrap();
            assert_eq!(output.path, path.display().to_string());
            assert_eq!(output.sha256, Digest::of(&bytes).to_string());
            assert_eq!(model.tensors.flat()[0] as u64, model.step.0);
        }
        assert_eq!(released.outputs.len(), 3);
        assert!(released.keep(root, &plan, Step(4), b"", 8).is_err());
        assert!(released.keep(root, &plan, Step(3), b"rubbish", 8).is_err());
    }
}
