//! A real enclave held against reference values, and made by hand for what it does not show.

use super::*;
use crate::hardware::tests::vectors::{Negative, failed, folder, references, sgx};
use crate::hardware::{Outcome, Rule};

fn held(bend: impl FnOnce(&mut Authentic, &mut Reference, &mut Expected)) -> Vec<Outcome> {
    let case = sgx();
    let crate::hardware::Authentic::Sgx(mut found) = case.verify().unwrap() else {
        panic!("{} is no SGX quote", case.name);
    };
    let mut reference = references("sgx").sgx.remove(0);
    let mut expected = case.expected.clone();
    bend(&mut found, &mut reference, &mut expected);
    let mut outcomes = Outcomes::default();
    found.hold_against(&reference, &expected, case.now, &mut outcomes);
    outcomes.into_vec()
}

/// An attribute, with a reference that lives with any.
fn attribute(bit: u8) -> Vec<Outcome> {
    held(|found, reference, _| {
        found.body.attributes[0] |= bit;
        reference.attributes = Rule::Ignore("a test".to_owned());
    })
}

pub(crate) fn negatives() -> Vec<Negative> {
    use Check::{SgxAttributes, SgxMeasurement};
    vec![
        Negative(SgxAttributes, "debugging", || attribute(DEBUG)),
        Negative(SgxAttributes, "provisioning key", || {
            attribute(PROVISION_KEY)
        }),
        Negative(SgxAttributes, "another flag", || {
            held(|found, _, _| found.body.attributes[0] |= 0x80)
        }),
        Negative(SgxAttributes, "MISCSELECT", || {
            held(|found, _, _| found.body.misc_select = 1)
        }),
        Negative(SgxMeasurement, "MRENCLAVE", || {
            held(|_, reference, _| reference.mrenclave = Rule::Exact(Hex([1; 32])))
        }),
        Negative(SgxMeasurement, "MRSIGNER", || {
            held(|_, reference, _| reference.mrsigner = Rule::Exact(Hex([1; 32])))
        }),
        Negative(SgxMeasurement, "ISVPRODID", || {
            held(|found, _, _| found.body.isv_prod_id = 1)
        }),
        Negative(SgxMeasurement, "ISVSVN", || {
            held(|_, reference, _| reference.isv_svn = Rule::AtLeast(1))
        }),
        // Key separation: what older readers call reserved.
        Negative(SgxMeasurement, "CONFIGID", || {
            held(|found, _, _| found.body.reserved3[95] = 1)
        }),
        Negative(SgxMeasurement, "CONFIGSVN", || {
            held(|found, _, _| found.body.reserved4[0] = 1)
        }),
        Negative(SgxMeasurement, "ISVFAMILYID", || {
            held(|found, _, _| found.body.reserved4[59] = 1)
        }),
        Negative(SgxMeasurement, "ISVEXTPRODID", || {
            held(|found, _, _| found.body.reserved1[27] = 1)
        }),
        Negative(SgxMeasurement, "reserved 1", || {
            held(|found, _, _| found.body.reserved1[0] = 1)
        }),
        Negative(SgxMeasurement, "reserved 2", || {
            held(|found, _, _| found.body.reserved2[31] = 1)
        }),
        Negative(SgxMeasurement, "reserved 3", || {
            held(|found, _, _| found.body.reserved3[31] = 1)
        }),
        Negative(SgxMeasurement, "reserved 4", || {
            held(|found, _, _| found.body.reserved4[2] = 1)
        }),
        Negative(SgxMeasurement, "another configuration digest", || {
            held(|_, _, expected| expected.config = Rule::Exact(Hex([1; 32])))
        }),
        Negative(SgxMeasurement, "more than the configuration digest", || {
            held(|found, reference, _| {
                found.body.reserved3[95] = 1;
                reference.config_id = Rule::Ignore("a test".to_owned());
            })
        }),
        Negative(Check::ReportData, "another binding", || {
            held(|_, _, expected| expected.report_data = Rule::Exact(Hex([1; 64])))
        }),
    ]
}

#[test]
fn the_real_enclave_is_accepted_where_its_status_is() {
    if folder().is_none() {
        return;
    }
    assert_eq!(failed(&held(|_, _, _| ())), []);
    assert!(sgx().appraise(&references("sgx")).is_ok());
}
