//! A real trust domain held against reference values; and what hardware did not sign, made by hand, for what real
//! quotes do not show.

use super::*;
use crate::hardware::tests::vectors::{Negative, failed, folder, references, tdx, tdx_debug};
use crate::hardware::{Outcome, Rule};

/// The outcomes after `bend`.
fn held(bend: impl FnOnce(&mut Authentic, &mut Reference, &mut Expected)) -> Vec<Outcome> {
    let case = tdx();
    let crate::hardware::Authentic::Tdx(mut found) = case.verify().unwrap() else {
        panic!("{} is no TDX quote", case.name);
    };
    let mut reference = references("tdx").tdx.remove(0);
    let mut expected = case.expected.clone();
    bend(&mut found, &mut reference, &mut expected);
    let mut outcomes = Outcomes::default();
    found.hold_against(&reference, &expected, case.now, &mut outcomes);
    outcomes.into_vec()
}

const OTHER: Rule<Hex<48>> = Rule::Exact(Hex([9; 48]));

pub(crate) fn negatives() -> Vec<Negative> {
    use Check::{TdxAttributes, TdxConfig, TdxMeasurement, TdxModule, TdxXfam};
    vec![
        Negative(TdxAttributes, "debugging", || {
            held(|found, _, _| found.body.td_attributes[0] |= 1)
        }),
        Negative(TdxAttributes, "profiling", || {
            held(|found, _, _| found.body.td_attributes[0] |= 0x20)
        }),
        Negative(TdxAttributes, "SEPT_VE_DISABLE off", || {
            held(|found, _, _| found.body.td_attributes[3] &= !0x10)
        }),
        Negative(TdxAttributes, "migratable", || {
            held(|found, _, _| found.body.td_attributes[3] |= 0x20)
        }),
        Negative(TdxAttributes, "a bit without a meaning", || {
            held(|found, _, _| found.body.td_attributes[4] |= 1)
        }),
        Negative(TdxAttributes, "PERFMON", || {
            held(|found, _, _| found.body.td_attributes[7] |= 0x80)
        }),
        Negative(TdxAttributes, "service TD extension", || {
            held(|found, _, _| found.body.td_attributes[2] |= 0x02)
        }),
        Negative(TdxAttributes, "Key Locker", || {
            held(|found, _, _| found.body.td_attributes[3] |= 0x80)
        }),
        Negative(TdxAttributes, "provisioning agent", || {
            held(|found, _, _| found.body.td_attributes[7] |= 0x40)
        }),
        Negative(TdxXfam, "one more feature", || {
            held(|found, _, _| found.body.xfam[2] |= 0x10)
        }),
        Negative(TdxModule, "another module", || {
            held(|_, reference, _| reference.mrseam = OTHER)
        }),
        Negative(TdxModule, "a module that Intel did not sign", || {
            held(|found, _, _| found.body.mr_signer_seam[0] = 1)
        }),
        Negative(TdxModule, "attributes of the module", || {
            held(|found, _, _| found.body.seam_attributes[0] = 1)
        }),
        Negative(TdxModule, "one part older, another newer", || {
            held(|found, _, _| found.body.tee_tcb_svn[..3].copy_from_slice(&[5, 1, 9]))
        }),
        Negative(TdxModule, "an older module after an update", || {
            held(|found, reference, _| {
                found.newer = Some((Svn([2; 16]), Hex([0; 48])));
                reference.tee_tcb_svn2 = Rule::AtLeast(Svn([3; 16]));
            })
        }),
        Negative(TdxModule, "no second version, and demanded", || {
            held(|_, reference, _| reference.tee_tcb_svn2 = Rule::AtLeast(Svn([0; 16])))
        }),
        Negative(TdxMeasurement, "MRTD", || {
            held(|_, reference, _| reference.mrtd = OTHER)
        }),
        Negative(TdxMeasurement, "RTMR0", || {
            held(|_, reference, _| reference.rtmr0 = OTHER)
        }),
        Negative(TdxMeasurement, "RTMR1", || {
            held(|_, reference, _| reference.rtmr1 = OTHER)
        }),
        Negative(TdxMeasurement, "RTMR2", || {
            held(|_, reference, _| reference.rtmr2 = OTHER)
        }),
        Negative(TdxMeasurement, "RTMR3", || {
            held(|_, reference, _| reference.rtmr3 = OTHER)
        }),
        Negative(TdxConfig, "MRCONFIGID", || {
            held(|_, reference, _| reference.mrconfigid = OTHER)
        }),
        Negative(TdxConfig, "MROWNER", || {
            held(|_, reference, _| reference.mrowner = OTHER)
        }),
        Negative(TdxConfig, "MROWNERCONFIG", || {
            held(|_, reference, _| reference.mrownerconfig = OTHER)
        }),
        Negative(TdxConfig, "a service TD", || {
            held(|found, _, _| found.newer = Some((Svn([0; 16]), Hex([1; 48]))))
        }),
        Negative(TdxConfig, "another configuration digest", || {
            held(|_, _, expected| expected.config = Rule::Exact(Hex([1; 32])))
        }),
        Negative(TdxConfig, "more than the configuration digest", || {
            held(|found, reference, _| {
                found.body.mr_config_id[47] = 1;
                reference.mrconfigid = Rule::Exact(Hex(found.body.mr_config_id));
            })
        }),
        Negative(Check::ReportData, "another binding", || {
            held(|_, _, expected| expected.report_data = Rule::Exact(Hex([1; 64])))
        }),
        // The module that runs now counts beside the one that launched the TD.
        Negative(
            Check::QuoteStatus,
            "an out-of-date module after an update",
            || held(|found, _, _| found.platform.current_status = Some("OutOfDate".to_owned())),
        ),
        Negative(Check::EventLog, "a log is demanded and absent", || {
            let mut references = references("tdx");
            references.tdx[0].event_log =
                crate::hardware::event_log::EventLogRule::Replay(Vec::new());
            tdx().bent(&references, |_| ())
        }),
        Negative(Check::EventLog, "the log of another guest", || {
            let mut references = references("tdx");
            references.tdx[0].event_log =
                crate::hardware::event_log::EventLogRule::Replay(Vec::new());
            tdx().bent(&references, |case| {
                let log = crate::hardware::tests::vectors::read("tdx/ccel_cos113.eventlog");
                case.endorsements.event_log = Some(log);
            })
        }),
    ]
}

#[test]
fn the_real_guest_is_accepted() {
    if folder().is_none() {
        return;
    }
    assert_eq!(failed(&held(|_, _, _| ())), []);
    let appraisal = tdx().appraise(&references("tdx")).unwrap();
    assert_eq!(appraisal.valid_until().0, 1_752_919_235);
}

/// Every demand fits the platform and the guest, except that it may be debugged. I3.
#[test]
fn i3_a_real_debug_guest_is_authentic_and_refused() {
    if folder().is_none() {
        return;
    }
    let case = tdx_debug();
    let crate::hardware::Authentic::Tdx(found) = case.verify().unwrap() else {
        panic!("no TDX quote");
    };
    let mut references = references("tdx");
    let reference = &mut references.tdx[0];
    let any = || Rule::Ignore("a test".to_owned());
    (reference.mrtd, reference.rtmr0) = (any(), any());
    (reference.rtmr1, reference.rtmr2) = (any(), any());
    (reference.mrseam, reference.tee_tcb_svn) = (any(), Rule::Ignore("a test".to_owned()));
    reference.xfam = Rule::Exact(Hex(found.body.xfam));
    reference.quote.fmspc = Rule::Exact(found.platform.fmspc);
    // As it is: out of date, with advisories, and debug.
    let refused = case.clone().bent(&references, |_| ());
    assert_eq!(failed(&refused), [Check::QuoteStatus, Check::TdxAttributes]);
    // A policy may live with an old platform; with a debugger it may not.
    let quote = &mut references.tdx[0].quote;
    quote.tcb_status = Rule::Exact("OutOfDate".to_owned());
    let refused = case.clone().bent(&references, |_| ());
    assert_eq!(
        failed(&refused),
        [Check::QuoteStatus, Check::TdxAttributes],
        "advisories"
    );
    let quote = &mut references.tdx[0].quote;
    quote.advisories =
        crate::hardware::quote::AdvisoryRule::Only(found.platform.advisories.clone());
    let refused = case.bent(&references, |_| ());
    assert_eq!(failed(&refused), [Check::TdxAttributes]);
}
