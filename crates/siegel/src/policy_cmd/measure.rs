//! `siegel policy measure`: what a machine will report, computed from the files that it starts from.
//!
//! Nothing here runs on the machine that is measured, and nothing needs one: the values are functions of the
//! firmware, the kernel and how the hypervisor starts them (I3).

mod error;
mod firmware;
mod input;
mod metadata;
mod snp;
mod tdx;
#[cfg(test)]
mod tests;

use clap::{Args, Subcommand};
use serde::Serialize;
use siegel_policy::Finding;

use super::Outcome;
use crate::failure::Failure;

/// Compute the reference values of a confidential virtual machine from its files.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel policy measure sev-snp --firmware OVMF.fd --vcpus 4 --vcpu-type EPYC-Genoa \\
      --kernel vmlinuz --initrd initrd.img --append 'console=ttyS0 root=/dev/vda1'
  siegel policy measure sev-snp --firmware ovmf_img.fd --vcpus 2 --vmm ec2
  siegel policy measure tdx --firmware OVMF.fd --json

The output is a piece of TOML for a file of reference values. A value that cannot be computed is not
there; a comment says why.")]
pub struct MeasureArgs {
    #[command(subcommand)]
    tee: Tee,
}

#[derive(Debug, Subcommand)]
enum Tee {
    /// Launch digest of an AMD SEV-SNP guest
    SevSnp(snp::SnpArgs),
    /// MRTD of an Intel TDX domain, and the digests of its boot events
    Tdx(tdx::TdxArgs),
}

/// What was computed.
#[derive(Debug, Serialize)]
pub struct Measured {
    schema: &'static str,
    /// "sev-snp" or "tdx".
    pub tee: &'static str,
    /// What was assumed, in plain words.
    pub assumed: Vec<String>,
    /// Fields of a reference, and their values in hexadecimal.
    pub values: Vec<Value>,
    /// Events of the boot, for the rule about the event log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// Fields that are not computed, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_computed: Vec<NotComputed>,
}

/// One reference value.
#[derive(Debug, Serialize)]
pub struct Value {
    /// The field's name in a reference.
    pub field: &'static str,
    /// What it must be.
    pub exact: String,
}

/// Digests of the events of one type in one register, as in an event log's rule.
#[derive(Debug, Serialize)]
pub struct Event {
    /// For people.
    pub name: &'static str,
    /// RTMR.
    pub register: u8,
    /// Event type, as the firmware profile numbers them.
    pub kind: u32,
    /// Every event of that type is one of these.
    pub any_of: Vec<String>,
}

/// A field that depends on more than the files.
#[derive(Debug, Serialize)]
pub struct NotComputed {
    /// The field's name in a reference.
    pub field: &'static str,
    /// On what else it depends.
    pub why: &'static str,
}

impl Measured {
    fn of(tee: &'static str) -> Self {
        Self {
            schema: "siegel/policy-measure/v1",
            tee,
            assumed: Vec::new(),
            values: Vec::new(),
            events: Vec::new(),
            not_computed: Vec::new(),
        }
    }

    fn assume(&mut self, what: impl Into<String>) {
        self.assumed.push(what.into());
    }

    fn value(&mut self, field: &'static str, digest: &[u8]) {
        let exact = hex::encode(digest);
        self.values.push(Value { field, exact });
    }

    fn not_computed(&mut self, field: &'static str, why: &'static str) {
        self.not_computed.push(NotComputed { field, why });
    }
}

/// Reads the files and computes.
pub fn measure(args: &MeasureArgs) -> Result<Measured, Failure> {
    match &args.tee {
        Tee::SevSnp(args) => snp::measure(args),
        Tee::Tdx(args) => tdx::measure(args),
    }
}

impl Outcome for Measured {
    fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.assumed {
            text += &format!("# {line}\n");
        }
        for Value { field, exact } in &self.values {
            text += &format!("{field} = {{ exact = \"{exact}\" }}\n");
        }
        for NotComputed { field, why } in &self.not_computed {
            text += &format!("# {field}: not computed, {why}\n");
        }
        if !self.events.is_empty() {
            let events: Vec<String> = self.events.iter().map(Event::toml).collect();
            let events = events.join(",\n  ");
            text += &format!("event_log = {{ replay = [\n  {events},\n] }}\n");
        }
        text
    }

    fn findings(&self) -> &[Finding] {
        &[]
    }
}

impl Event {
    fn toml(&self) -> String {
        let (name, register, kind) = (self.name, self.register, self.kind);
        let digests = self.any_of.join("\", \"");
        format!(
            "{{ name = \"{name}\", register = {register}, kind = {kind:#x}, \
             digest = {{ any_of = [\"{digests}\"] }}, last = false }}"
        )
    }
}
