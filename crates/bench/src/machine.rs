//! What of the machine and the build decides a figure. Printed with every one.

use serde::Serialize;

/// Facts without which a figure means nothing.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// Cores that this process may use.
    pub cores: usize,
    /// The processor's own name, as Linux tells it.
    pub cpu: String,
    /// How busy the machine was before the measurement: runnable processes, mean of one minute.
    pub load_1min: Option<f64>,
    /// "release" or "debug".
    pub profile: &'static str,
    /// Whether the compiler could use AVX2 and FMA everywhere, as in measured binaries
    /// (`-Ctarget-cpu=x86-64-v3`). Libraries that look at run time use them anyway.
    pub built_for_x86_64_v3: bool,
}

impl Machine {
    /// Looks at the machine and at this build.
    pub fn look() -> Self {
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            cpu: read("/proc/cpuinfo")
                .and_then(|text| cpu_name(&text))
                .unwrap_or_else(|| "unknown".to_owned()),
            load_1min: read("/proc/loadavg").and_then(|text| load(&text)),
            profile: if cfg!(debug_assertions) {
                "debug"
            } else {
                "release"
            },
            built_for_x86_64_v3: cfg!(all(target_feature = "avx2", target_feature = "fma")),
        }
    }

    /// Why the figures of this run are worth less than they look.
    pub fn warnings(&self) -> Vec<String> {
        let mut out = Vec::new();
        if self.profile == "debug" {
            out.push(
                "DEBUG BUILD: these figures say nothing about Siegel; use `cargo run --release -p \
                 siegel-bench`"
                    .to_owned(),
            );
        }
        if let Some(load) = self.load_1min
            && load > self.cores as f64
        {
            out.push(format!(
                "BUSY MACHINE: load {load} on {} cores; ratios are fair, absolute figures are low",
                self.cores
            ));
        }
        out
    }
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn cpu_name(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn load(loadavg: &str) -> Option<f64> {
    loadavg.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(profile: &'static str, load: f64) -> Machine {
        Machine {
            cores: 2,
            cpu: "x".to_owned(),
            load_1min: Some(load),
            profile,
            built_for_x86_64_v3: true,
        }
    }

    #[test]
    fn a_debug_build_and_a_busy_machine_are_said() {
        assert!(machine("release", 1.5).warnings().is_empty());
        let debug = machine("debug", 0.0).warnings();
        assert!(
            debug.len() == 1 && debug[0].starts_with("DEBUG BUILD"),
            "{debug:?}"
        );
        let busy = machine("release", 2.5).warnings();
        assert!(
            busy.len() == 1 && busy[0].contains("load 2.5 on 2"),
            "{busy:?}"
        );
    }

    #[test]
    fn what_linux_says_is_read() {
        let info = "processor\t: 0\nmodel name\t: AMD EPYC\nmodel name\t: other\n";
        assert_eq!(cpu_name(info).as_deref(), Some("AMD EPYC"));
        assert_eq!(cpu_name("processor\t: 0\n"), None);
        assert_eq!(load("0.25 0.88 1.58 1/200 999\n"), Some(0.25));
        assert_eq!(load(""), None);
    }
}
