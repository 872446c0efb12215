//! The verdict for people.

use comfy_table::{ContentArrangement, Table, presets};
use siegel_attest::hardware::Status;

use super::{Outcome, Verdict};

impl Outcome for Verdict {
    fn text(&self) -> String {
        let mut out = String::new();
        if self.explain {
            out.push_str(&self.checks_table());
            out.push_str("\n\n");
            out.push_str(&self.claims_table());
            out.push_str("\n\n");
        }
        if self.around > 0 {
            out.push_str(&format!(
                "{} bytes around the evidence were not looked at\n",
                self.around
            ));
        }
        for failed in self
            .checks
            .iter()
            .filter(|asked| asked.status == Status::Failed)
        {
            out.push_str(&format!("failed: {}: {}\n", failed.check, failed.detail));
        }
        out.push_str(&self.sentence());
        out
    }
}

impl Verdict {
    fn sentence(&self) -> String {
        let until = self
            .valid_until
            .map(|until| format!(", valid until {until}"))
            .unwrap_or_default();
        match self.verdict {
            "accepted" => {
                let ignored = self
                    .checks
                    .iter()
                    .filter(|asked| asked.status == Status::Ignored)
                    .count();
                format!(
                    "accepted: {} evidence satisfies the policy{until}; {ignored} checks ignored",
                    self.kind
                )
            }
            "authentic" => format!(
                "authentic: {} evidence is the vendor's{until}. No policy was asked",
                self.kind
            ),
            _ => format!("refused: {} evidence", self.kind),
        }
    }

    fn checks_table(&self) -> String {
        let mut table = Table::new();
        table
            .load_preset(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic);
        table.set_header(["outcome", "check", "found and wanted"]);
        for asked in &self.checks {
            let status = match asked.status {
                Status::Passed => "passed",
                Status::Failed => "FAILED",
                Status::Ignored => "ignored",
            };
            table.add_row([status, asked.check.id(), &asked.detail]);
        }
        table.to_string()
    }

    fn claims_table(&self) -> String {
        let mut table = Table::new();
        table
            .load_preset(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic);
        table.set_header(["claim", "value"]);
        for (name, value) in &self.claims {
            table.add_row([name.as_str(), value.as_str().unwrap_or_default()]);
        }
        table.to_string()
    }
}
