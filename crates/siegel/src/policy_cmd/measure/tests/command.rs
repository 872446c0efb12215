//! The command on files: fragments that parse as reference values, JSON, and every refusal.

use std::path::Path;

use clap::Parser;
use serde::Deserialize;
use siegel_attest::hardware::event_log::EventLogRule;
use siegel_attest::hardware::{Hex, Rule};
use tempfile::TempDir;

use super::image::{amd_sev, tdvf};
use super::kernel::pe;
use crate::failure::{Exit, Failure};
use crate::policy_cmd::Outcome as _;
use crate::policy_cmd::measure::{MeasureArgs, Measured, input, measure};

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: MeasureArgs,
}

/// A folder with an image of each kind, a kernel and an initrd.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    put("sev.fd", &amd_sev(2));
    put("tdx.fd", &tdvf());
    put("kernel", &pe());
    put("initrd", b"an initrd");
    put("empty", b"");
    put("noise", &[0; 4096]);
    folder
}

/// Words that name a file of the folder become its path.
fn parse(folder: &TempDir, line: &str) -> Result<MeasureArgs, clap::Error> {
    let words = line.split(' ').map(|word| {
        let path = folder.path().join(word);
        match path.exists() && !word.is_empty() {
            true => path.display().to_string(),
            false => word.replace('+', " "),
        }
    });
    Cli::try_parse_from(["measure".into()].into_iter().chain(words)).map(|cli| cli.args)
}

fn run(folder: &TempDir, line: &str) -> Result<Measured, Failure> {
    measure(&parse(folder, line).unwrap())
}

fn refused(folder: &TempDir, line: &str) -> (String, String) {
    let failure = run(folder, line).unwrap_err();
    assert_eq!(failure.exit, Exit::Usage as u8, "{line}");
    assert!(
        !failure.help.is_empty() && !failure.message.is_empty(),
        "{line}"
    );
    let at = Path::new(&*failure.at)
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    (failure.code.into(), at)
}

const SNP: &str = "sev-snp --firmware sev.fd --vcpus 2 --vcpu-type EPYC-Genoa";
const BOOT: &str = "--kernel kernel --initrd initrd --append console=ttyS0+quiet";

#[test]
fn snp_fragment() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Fragment {
        measurement: Rule<Hex<48>>,
    }
    let folder = folder();
    let without = run(&folder, SNP).unwrap();
    let with = run(&folder, &format!("{SNP} {BOOT}")).unwrap();
    let rule = |measured: &Measured| {
        let fragment: Fragment = toml::from_str(&measured.text()).unwrap();
        fragment.measurement
    };
    assert_ne!(rule(&without), rule(&with));
    let Rule::Exact(value) = rule(&with) else {
        panic!("not exact");
    };
    assert_eq!(value.to_string(), with.values[0].exact);
    assert!(with.text().starts_with(
        "# started by QEMU, 2 virtual CPUs of signature 0xa10f10, guest features 0x1\n"
    ));
    // The same machine, its CPU by number.
    let number = "sev-snp --firmware sev.fd --vcpus 2 --vcpu-signature 0xa10f10 --guest-features 1";
    assert_eq!(rule(&run(&folder, number).unwrap()), rule(&without));
}

#[test]
fn tdx_fragment() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Fragment {
        mrtd: Rule<Hex<48>>,
        rtmr1: Option<Rule<Hex<48>>>,
        rtmr2: Option<Rule<Hex<48>>>,
        event_log: Option<EventLogRule>,
    }
    let folder = folder();
    let parsed =
        |line: &str| -> Fragment { toml::from_str(&run(&folder, line).unwrap().text()).unwrap() };
    let alone = parsed("tdx --firmware tdx.fd");
    assert!(alone.rtmr1.is_none() && alone.rtmr2.is_none() && alone.event_log.is_none());
    let direct = parsed(&format!("tdx --firmware tdx.fd {BOOT}"));
    assert_eq!(direct.mrtd, alone.mrtd);
    assert!(direct.rtmr1.is_some() && direct.rtmr2.is_some());
    let Some(EventLogRule::Replay(events)) = direct.event_log else {
        panic!("no events");
    };
    let kinds: Vec<_> = events
        .iter()
        .map(|event| (event.register, event.kind))
        .collect();
    assert_eq!(kinds, [(1, 0x8000_0003), (2, 6)]);
    let measured = run(&folder, "tdx --firmware tdx.fd").unwrap();
    let open: Vec<_> = measured
        .not_computed
        .iter()
        .map(|open| open.field)
        .collect();
    assert_eq!(open, ["rtmr0", "rtmr1", "rtmr2", "rtmr3"]);
    let direct = run(&folder, &format!("tdx --firmware tdx.fd {BOOT}")).unwrap();
    let open: Vec<_> = direct.not_computed.iter().map(|open| open.field).collect();
    assert_eq!(open, ["rtmr0", "rtmr3"]);
}

#[test]
fn json() {
    let folder = folder();
    let measured = serde_json::to_value(run(&folder, SNP).unwrap()).unwrap();
    assert_eq!(measured["schema"], "siegel/policy-measure/v1");
    assert_eq!(measured["tee"], "sev-snp");
    assert_eq!(measured["values"][0]["field"], "measurement");
    assert_eq!(measured["values"][0]["exact"].as_str().unwrap().len(), 96);
}

#[test]
fn refusals() {
    let folder = folder();
    let refused = |line: &str| {
        let (code, at) = refused(&folder, line);
        format!("{code} {at}")
    };
    let qemu = |more: &str| refused(&format!("sev-snp --firmware sev.fd --vcpus 1 {more}"));
    let cpu = |more: &str| qemu(&format!("--vcpu-type EPYC {more}"));
    assert_eq!(qemu("--vmm qemu"), "argument --vcpu-type");
    assert_eq!(cpu("--vmm ec2"), "argument --vmm");
    assert_eq!(qemu("--vmm ec2 --kernel kernel"), "argument --kernel");
    assert_eq!(cpu("--guest-features 0x2"), "argument --guest-features");
    assert_eq!(
        qemu("--vcpu-signature 0x100000000"),
        "argument --vcpu-signature"
    );
    assert_eq!(cpu("--kernel nothing"), "cannot-read nothing");
    assert_eq!(cpu("--kernel empty"), "empty empty");
    assert_eq!(cpu("--kernel kernel --initrd empty"), "empty empty");
    assert_eq!(refused("tdx --firmware empty"), "empty empty");
    assert_eq!(refused("tdx --firmware noise"), "firmware-table noise");
    assert_eq!(refused("tdx --firmware sev.fd"), "firmware-entry sev.fd");
    assert_eq!(
        refused("tdx --firmware tdx.fd --kernel initrd"),
        "kernel-format initrd"
    );
    assert_eq!(
        refused("tdx --firmware tdx.fd --kernel kernel"),
        "argument --append"
    );
}

#[test]
fn wrong_arguments() {
    let folder = folder();
    for line in [
        "sev-snp --firmware sev.fd",
        "sev-snp --firmware sev.fd --vcpus 0 --vcpu-type EPYC",
        "sev-snp --firmware sev.fd --vcpus 4097 --vcpu-type EPYC",
        "sev-snp --firmware sev.fd --vcpus 1 --vcpu-type Pentium",
        "sev-snp --firmware sev.fd --vcpus 1 --vcpu-type EPYC --vcpu-signature 1",
        "sev-snp --firmware sev.fd --vcpus 1 --vcpu-type EPYC --guest-features 0xg",
        "sev-snp --firmware sev.fd --vcpus 1 --vcpu-type EPYC --initrd initrd",
        "tdx --firmware tdx.fd --append quiet",
        "tdx",
    ] {
        assert!(parse(&folder, line).is_err(), "{line}");
    }
}

/// I14: a file is read up to its bound and no further.
#[test]
fn bounded_files() {
    let folder = folder();
    let digest = |max| {
        input::digest(
            &folder.path().join("initrd"),
            "initrd",
            max,
            &ring::digest::SHA256,
        )
    };
    assert_eq!(digest(9).unwrap().1, 9);
    assert_eq!(&*digest(8).unwrap_err().code, "too-long");
    let path = folder.path().join("huge.fd");
    std::fs::File::create(&path)
        .unwrap()
        .set_len((64 << 20) + 1)
        .unwrap();
    assert_eq!(
        refused(&folder, "tdx --firmware huge.fd"),
        ("too-long".into(), "huge.fd".into())
    );
}
