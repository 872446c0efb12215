//! What the endorser of a simulation says: it vouches for what is executed.

use siegel_attest::Profile;
use siegel_endorse::{self as endorse, Binaries, Binary, Build, Endorsement, Subject};
use siegel_ident::{Digest, ProgramDigest, Seconds, Timestamp};
use siegel_recipe::Record;

use crate::Part;
use crate::cluster::{MeasuredBinary, Mode};

/// How long an endorsement holds: as long as the shipped policies.
const HOLDS: Seconds = Seconds(30 * 24 * 3_600);
/// How far other clocks may be behind this one.
const LATE_CLOCKS: Seconds = Seconds(60);

/// What is known of how the executed binaries were built, with the files that it names by digest.
#[derive(Default)]
pub(super) struct Provenance {
    record: Option<Record>,
    source: Option<Vec<u8>>,
    recipe: Option<Vec<u8>>,
}

impl Provenance {
    /// Nobody knows how a command was built that runs its nodes inside itself.
    pub(super) fn of(mode: &Mode) -> Self {
        match mode {
            Mode::InProcess => Self::default(),
            Mode::Processes { binaries, .. } => Self {
                record: binaries.record.clone(),
                source: binaries.source.clone(),
                recipe: binaries.recipe.clone(),
            },
        }
    }

    /// How exactly these files were built: `None` if the record is about others, or if what it
    /// names by digest is not at hand, since then nobody could rebuild.
    pub(super) fn build(&self, measured: &[MeasuredBinary]) -> Option<Build> {
        let record = self.record.as_ref()?;
        let fits = |binary: &MeasuredBinary| {
            record.binaries.get(&binary.file).copied() == Some(binary.sha256)
        };
        let build = &record.build;
        let at_hand = |file: &Option<Vec<u8>>| file.as_deref().map(Digest::of);
        let complete = at_hand(&self.source) == Some(build.source)
            && build
                .recipe
                .is_none_or(|recipe| at_hand(&self.recipe) == Some(recipe));
        (complete && measured.iter().all(fits)).then(|| build.clone())
    }

    pub(super) fn files(&self) -> Vec<&[u8]> {
        let files = [&self.source, &self.recipe];
        files.into_iter().filter_map(Option::as_deref).collect()
    }
}

/// The measured binaries, each in its role. Built with the simulator: nothing else would run here
/// (I11).
pub(super) fn binaries(
    measured: &[MeasuredBinary],
    build: Option<Build>,
    now: Timestamp,
) -> Endorsement {
    let file = |binary: &MeasuredBinary| {
        Some(Binary {
            role: role(binary.part)?,
            name: binary.file.clone(),
            sha256: binary.sha256,
            measurements: vec![binary.reference.clone()],
        })
    };
    let subject = Subject::Binaries(Binaries {
        flavour: Profile::Simulation,
        files: measured.iter().filter_map(file).collect(),
        build,
    });
    document("simulated node binaries", subject, now)
}

/// The one program.
pub(super) fn program(program: ProgramDigest, now: Timestamp) -> Endorsement {
    document("program of a simulation", Subject::Program(program), now)
}

fn document(name: &str, subject: Subject, now: Timestamp) -> Endorsement {
    Endorsement {
        schema: Endorsement::SCHEMA.into(),
        name: name.into(),
        not_before: Timestamp(now.0.saturating_sub(LATE_CLOCKS.0)),
        not_after: now.plus(HOLDS),
        subject,
    }
}

/// The role that a part is measured in.
const fn role(part: Part) -> Option<endorse::Part> {
    match part {
        Part::Kms => Some(endorse::Part::Kms),
        Part::Root => Some(endorse::Part::Root),
        Part::Worker => Some(endorse::Part::Worker),
        Part::Log | Part::Witness | Part::Depot => None,
    }
}

#[cfg(test)]
mod tests {
    use siegel_attest::ReferenceValue;
    use siegel_ident::Measurement;

    use super::*;

    fn measured() -> Vec<MeasuredBinary> {
        let one = |part: Part, file: &str| MeasuredBinary {
            part,
            file: file.into(),
            sha256: Digest::of(file.as_bytes()),
            reference: ReferenceValue::simulated(Measurement::of(file.as_bytes())),
        };
        vec![
            one(Part::Kms, "siegel-kms"),
            one(Part::Root, "siegel-root"),
            one(Part::Worker, "siegel-worker"),
        ]
    }

    fn provenance() -> Provenance {
        let dir = tempfile::tempdir().unwrap();
        for name in siegel_recipe::NODES {
            std::fs::write(dir.path().join(name), name).unwrap();
        }
        let build = Build {
            source: Digest::of(b"source"),
            commit: Some("0123456789abcdef0123456789abcdef01234567".into()),
            dirty: false,
            recipe: Some(Digest::of(b"recipe")),
            rustc: "rustc 1".into(),
            cc: "cc 1".into(),
        };
        let names = siegel_recipe::NODES;
        let record = Record::of(dir.path(), &names, Profile::Simulation, build);
        Provenance {
            record: Some(record.unwrap()),
            source: Some(b"source".to_vec()),
            recipe: Some(b"recipe".to_vec()),
        }
    }

    // I3: catches an endorsement of files as a build of which they are not, and one whose manifest or
    // recipe nobody can fetch.
    #[test]
    fn i3_a_build_is_told_only_of_its_own_files_and_with_all_that_it_names() {
        let good = provenance();
        assert!(good.build(&measured()).unwrap().is_reproducible());
        assert_eq!(good.files(), [b"source", b"recipe"]);
        let mut other = measured();
        other[2].sha256 = Digest::of(b"other bytes");
        assert_eq!(good.build(&other), None);
        for lose in [
            |p: &mut Provenance| p.source = None,
            |p: &mut Provenance| p.recipe = Some(b"another".to_vec()),
            |p: &mut Provenance| p.record = None,
        ] {
            let mut poor = provenance();
            lose(&mut poor);
            assert_eq!(poor.build(&measured()), None);
        }
        let mut plain = provenance();
        plain.record.as_mut().unwrap().build.recipe = None;
        plain.recipe = None;
        assert!(!plain.build(&measured()).unwrap().is_reproducible());
    }

    // I3: catches a file that is endorsed in another role than it is measured in, or not at all.
    #[test]
    fn i3_every_binary_is_endorsed_in_its_role() {
        let now = Timestamp(1_800_000_000);
        let said = binaries(&measured(), None, now);
        let Subject::Binaries(of) = &said.subject else {
            panic!("{said:?}");
        };
        let roles: Vec<_> = of.files.iter().map(|f| (f.role, f.name.as_str())).collect();
        let expected = [
            (endorse::Part::Kms, "siegel-kms"),
            (endorse::Part::Root, "siegel-root"),
            (endorse::Part::Worker, "siegel-worker"),
        ];
        assert_eq!(roles, expected);
        assert_eq!(of.files[1].measurements, [measured()[1].reference.clone()]);
        assert!(said.holds_at(now) && said.to_bytes().is_ok());
        assert!(program(ProgramDigest::of(b"p"), now).to_bytes().is_ok());
    }
}
