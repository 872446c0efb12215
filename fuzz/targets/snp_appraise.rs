//! Behind the signature: a mock platform signs what the input makes of its report, its leaf and its revocation list.
//! Reports are accepted exactly where another reader of the raw bytes says so; with bent certificates and lists, nowhere
//! else.
#![no_main]

use std::sync::{LazyLock, Mutex};

use libfuzzer_sys::fuzz_target;
use siegel_attest::hardware::snp::mock::{Certificate, List, NOW, Revoked, at};
use siegel_attest::hardware::snp::{Product, SigningKey};
use siegel_attest::hardware::{Authentic, Status, appraise};
use siegel_fuzz::script::Script;
use siegel_fuzz::snp::{AUTHORITIES, LIST_AGE_S, ROOTS, World, expected, refusal, worlds};
use siegel_ident::{Seconds, Timestamp};

static WORLDS: LazyLock<Mutex<Vec<World>>> = LazyLock::new(|| Mutex::new(worlds()));

/// Kinds of steps: those that change the report come first.
const OF_REPORT: u8 = 6;
const ALL: u8 = 12;

/// Fields to write at their start.
const FIELDS: [usize; 26] = [
    at::VERSION,
    at::GUEST_SVN,
    at::POLICY,
    at::FAMILY_ID,
    at::IMAGE_ID,
    at::VMPL,
    at::ALGORITHM,
    at::CURRENT_TCB,
    at::PLATFORM,
    at::FLAGS,
    at::REPORT_DATA,
    at::MEASUREMENT,
    at::HOST_DATA,
    at::ID_KEY,
    at::AUTHOR_KEY,
    at::REPORT_ID,
    at::MIGRATION_AGENT,
    at::REPORTED_TCB,
    at::CPU,
    at::CHIP_ID,
    at::COMMITTED_TCB,
    at::CURRENT_FIRMWARE,
    at::COMMITTED_FIRMWARE,
    at::LAUNCH_TCB,
    at::LAUNCH_MITIGATIONS,
    at::CURRENT_MITIGATIONS,
];

fuzz_target!(|data: &[u8]| {
    let mut script = Script(data);
    let mut worlds = WORLDS.lock().expect("one thread");
    let (count, choice) = (worlds.len(), usize::from(script.byte()));
    let world = &mut worlds[choice % count];
    // Mostly the report alone: signing with RSA is slow.
    let steps = if choice / count % 4 == 3 {
        ALL
    } else {
        OF_REPORT
    };
    world.platform.report = world.draft.clone();
    let (mut leaf, mut list) = (world.platform.leaf.clone(), world.platform.list.clone());
    while !script.is_over() {
        step(&mut script, steps, world, &mut leaf, &mut list);
    }
    check(world, &leaf, list.as_ref());
});

fn step(
    script: &mut Script<'_>,
    steps: u8,
    world: &mut World,
    leaf: &mut Certificate,
    list: &mut Option<List>,
) {
    let report = &mut world.platform.report;
    match script.byte() % steps {
        0..=2 => {
            let field = FIELDS[usize::from(script.byte()) % FIELDS.len()];
            report.put(field, script.short());
        }
        3 | 4 => {
            let at = script.number();
            report.put(at, script.short());
        }
        5 => {
            let bit = script.number();
            if let Some(byte) = report.bytes().get(bit / 8).copied() {
                report.put(bit / 8, &[byte ^ 1 << (bit % 8)]);
            }
        }
        6 => {
            let index = usize::from(script.byte()) % leaf.extensions.len().max(1);
            if let Some(one) = leaf.extensions.get_mut(index) {
                one.value = script.short().to_vec();
            }
        }
        7 => {
            let index = usize::from(script.byte()) % leaf.extensions.len().max(1);
            if let Some(mut one) = leaf.extensions.get(index).cloned() {
                match script.byte() % 3 {
                    0 => drop(leaf.extensions.remove(index)),
                    1 => leaf.extensions.push(one),
                    _ => {
                        one.critical = Some(true);
                        leaf.extensions[index] = one;
                    }
                }
            }
        }
        8 => leaf.window = (time(script), time(script)),
        9 => leaf.serial = script.short().to_vec(),
        10 => {
            if let Some(list) = list {
                list.revoked.push(Revoked {
                    serial: script.short().to_vec(),
                    extensions: Vec::new(),
                });
            }
        }
        _ => match (script.byte() % 3, list.as_mut()) {
            (0, _) => *list = None,
            (1, Some(list)) => list.made = time(script),
            (_, Some(list)) => list.next = Some(time(script)),
            _ => (),
        },
    }
}

/// Around the mock's clock, in steps of an hour; never before 1970.
fn time(script: &mut Script<'_>) -> Timestamp {
    const MIDDLE: u64 = 1 << 15;
    let hours = script.number() as u64;
    let (ahead, behind) = (hours.saturating_sub(MIDDLE), MIDDLE.saturating_sub(hours));
    NOW.plus(Seconds(ahead * 3600))
        .minus(Seconds(behind * 3600))
}

fn check(world: &World, leaf: &Certificate, list: Option<&List>) {
    let [ark, ask, asvk] = &*AUTHORITIES;
    let platform = &world.platform;
    let mut endorsements = world.endorsements.clone();
    let bent = (*leaf != platform.leaf, list != platform.list.as_ref());
    if bent.0 {
        let authority = if world.key == SigningKey::Vcek {
            ask
        } else {
            asvk
        };
        endorsements.certificates[0] = leaf.sign(authority).expect("it signs anything");
    }
    if bent.1 {
        let list = list.map(|list| list.sign(ark).expect("it signs anything"));
        endorsements.crls = list.into_iter().collect();
    }
    let evidence = platform.evidence().expect("it signs anything");
    let found = appraise(
        &evidence,
        &endorsements,
        &ROOTS,
        &world.references,
        &expected(),
        NOW,
    );
    let (stated, chip) = stated(world, leaf);
    let refusal = match stated {
        Some(stated) => refusal(world, &evidence.body, stated, &chip),
        None => Some("a leaf without its levels"),
    };
    match found {
        Ok(appraisal) => {
            assert_eq!(refusal, None, "accepted");
            assert!(
                appraisal
                    .outcomes()
                    .iter()
                    .all(|one| one.status != Status::Failed)
            );
            let Authentic::SevSnp(found) = appraisal.authentic() else {
                panic!("no report");
            };
            assert!(!found.report().policy.debug());
            assert!(leaf.window.0 <= NOW && NOW <= leaf.window.1);
            assert!(appraisal.valid_until() <= leaf.window.1);
            let list = list.expect("the policy demands one");
            let age = NOW.since(list.made).0;
            assert!(
                list.made <= NOW && age <= LIST_AGE_S && list.next.is_some_and(|next| NOW <= next)
            );
            // Both authorities have the number 7.
            assert!(list.revoked.iter().all(|one| one.serial != [7]));
        }
        Err(rejection) if bent == (false, false) => {
            assert!(refusal.is_some(), "refused for nothing: {rejection}");
        }
        Err(_) => (),
    }
}

/// What the leaf states: patch levels in the order of the report's bytes, and the chip. `None` if one is not there as the
/// mock writes it.
fn stated(world: &World, leaf: &Certificate) -> (Option<[u8; 8]>, Vec<u8>) {
    let value = |arcs: &str| {
        let oid = format!("1.3.6.1.4.1.3704.1.{arcs}");
        let mut found = leaf
            .extensions
            .iter()
            .filter(|one| one.oid.to_string() == oid);
        found.next().map(|one| one.value.as_slice())
    };
    let parts: &[(usize, &str)] = match world.platform.product {
        Product::Turin => &[(0, "3.9"), (1, "3.1"), (2, "3.2"), (3, "3.3"), (7, "3.8")],
        _ => &[(0, "3.1"), (1, "3.2"), (6, "3.3"), (7, "3.8")],
    };
    let mut stated = Some([0; 8]);
    for (at, arcs) in parts {
        let level = match value(arcs) {
            Some([2, 1, level]) if *level < 0x80 => Some(*level),
            Some([2, 2, 0, level]) if *level >= 0x80 => Some(*level),
            _ => None,
        };
        match (level, &mut stated) {
            (Some(level), Some(stated)) => stated[*at] = level,
            _ => stated = None,
        }
    }
    let len = if world.platform.product == Product::Turin {
        8
    } else {
        64
    };
    let chip = match value("4").unwrap_or_default() {
        [4, stated, chip @ ..] if usize::from(*stated) == len && chip.len() == len => chip,
        chip => chip,
    };
    (stated, chip.to_vec())
}
