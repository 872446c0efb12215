//! The result for people.

use siegel_policy::Finding;

use super::{Outcome, Report};

impl Report {
    /// For people: the result first, then why, then what to do.
    pub fn text(&self) -> String {
        let mut lines = Vec::new();
        for binary in &self.binaries {
            let word = binary.result.word();
            lines.push(format!("{word} {} ({})", binary.name, binary.role.as_str()));
            lines.push(format!("  expected {}", binary.expected));
            if let Some(built) = binary.built {
                lines.push(format!("  built    {built}"));
            }
        }
        if self.binaries.is_empty() {
            lines.push(self.result.word().to_owned());
        }
        lines.push(self.origin());
        for cause in &self.causes {
            lines.push(format!("cause: {} ({})", cause.message, cause.id));
        }
        lines.extend(self.findings.iter().map(Finding::to_string));
        lines.push(format!("next: {}", self.next()));
        lines.join("\n") + "\n"
    }

    fn origin(&self) -> String {
        let mut parts = Vec::new();
        if let Some(flavour) = self.flavour {
            parts.push(format!("flavour {flavour}"));
        }
        match (&self.commit, self.here) {
            (_, true) => parts.push("this working tree".to_owned()),
            (Some(commit), false) => parts.push(format!("commit {commit}")),
            (None, false) => {}
        }
        if let Some(source) = self.source {
            parts.push(format!("stated source {source}"));
        }
        if let Some(endorsement) = &self.endorsement {
            parts.push(format!(
                "endorsed by {} as {:?}, log entry {}",
                endorsement.endorser, endorsement.name, endorsement.log_index
            ));
        }
        if let Some(seconds) = self.timing.build_s {
            parts.push(format!("built in {seconds:.0} s"));
        }
        parts.join(", ")
    }

    fn next(&self) -> &'static str {
        let has = |id: &str| self.causes.iter().any(|cause| cause.id == id);
        match self.result {
            Outcome::Match if Finding::any_error(&self.findings) => {
                "these binaries are of the stated source; see the errors for what is left"
            }
            Outcome::Match => "read the source of that commit: it is what runs",
            Outcome::NotBuilt => "nothing was built: without --no-build the bytes are compared",
            Outcome::NotReproducible => {
                "do not rely on these binaries; ask the endorser for a build by the recipe from a commit"
            }
            Outcome::Mismatch if self.here && (has("source-differs") || has("dirty-tree")) => {
                "compare the endorsed commit instead of this tree: leave --here out"
            }
            Outcome::Mismatch if has("dirty-tree") || has("source-differs") => {
                "do not rely on these binaries; ask the endorser to publish the source and build from it"
            }
            Outcome::Mismatch if has("toolchain-differs") || has("compiler-differs") => {
                "try again with the stated tools"
            }
            Outcome::Mismatch if has("flag-differs") || has("recipe-differs") => {
                "build by the stated recipe"
            }
            Outcome::Mismatch => {
                "do not rely on these binaries; report this with the output of --json"
            }
        }
    }
}

impl Outcome {
    const fn word(self) -> &'static str {
        match self {
            Self::Match => "MATCH",
            Self::Mismatch => "MISMATCH",
            Self::NotReproducible => "NOT REPRODUCIBLE",
            Self::NotBuilt => "NOT BUILT",
        }
    }
}
