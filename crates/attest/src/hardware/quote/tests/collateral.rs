//! Collateral has one spelling, and nothing in it is spare.

use serde_json::Value;

use super::*;

/// No byte can be changed. Not among the flips, but accepted: one white space between JSON's tokens for another,
/// which nobody signs and which changes nothing.
#[test]
fn no_flip_of_collateral_is_accepted() {
    if folder().is_none() {
        return;
    }
    for (case, sample) in all().into_iter().zip([24, 0, 24]) {
        let json = case.endorsements.collateral.clone().unwrap();
        let space = |byte: u8| [b' ', b'\n', b'\r', b'\t'].contains(&byte);
        let flips: Vec<_> = flips(json.len(), sample)
            .into_iter()
            .filter(|(at, mask)| !(space(json[*at]) && space(json[*at] ^ mask)))
            .collect();
        let found = accepted(&json, &flips, |bent| {
            let mut case = case.clone();
            case.endorsements.collateral = Some(bent.to_vec());
            case.verify().is_ok()
        });
        assert_eq!(found, [], "{}", case.name);
    }
}

/// Each field of one vector's collateral put into the other's: same root, same signer, other time and platform.
#[test]
fn no_field_can_be_exchanged() {
    if folder().is_none() {
        return;
    }
    let (one, other) = (tdx(), tdx_debug());
    let (mine, theirs) = (collateral_of(&one), collateral_of(&other));
    // The same certificate signs for both, in two spellings of the end; the CA of the PCK list is the same.
    let same = [
        "pck_crl_issuer_chain",
        "tcb_info_issuer_chain",
        "qe_identity_issuer_chain",
    ];
    for (name, value) in theirs.as_object().unwrap() {
        let mut mixed = mine.clone();
        mixed[name] = value.clone();
        let found = with_collateral(&one, &mixed).verify();
        assert_eq!(found.is_ok(), same.contains(&name.as_str()), "{name}");
    }
    // SGX's list is by another CA, and its chain belongs to no TDX platform.
    let mut mixed = mine.clone();
    mixed["pck_crl_issuer_chain"] = collateral_of(&sgx())["pck_crl_issuer_chain"].clone();
    assert_eq!(
        refused(&with_collateral(&one, &mixed)),
        Check::QuoteCollateral
    );
    // Signers in each other's place.
    for name in ["tcb_info_issuer_chain", "qe_identity_issuer_chain"] {
        let mut mixed = mine.clone();
        mixed[name] = mine["pck_crl_issuer_chain"].clone();
        assert_eq!(
            refused(&with_collateral(&one, &mixed)),
            Check::QuoteCollateral,
            "{name}"
        );
    }
}

#[test]
fn absent_empty_and_unknown_fields_are_refused() {
    if folder().is_none() {
        return;
    }
    let case = tdx();
    let good = collateral_of(&case);
    assert!(with_collateral(&case, &good).verify().is_ok());
    for name in good.as_object().unwrap().keys() {
        let mut bad = good.clone();
        bad.as_object_mut().unwrap().remove(name);
        assert_eq!(
            refused(&with_collateral(&case, &bad)),
            Check::QuoteCollateral,
            "{name}"
        );
        for empty in [Value::Null, "".into(), 0.into(), Value::Array(Vec::new())] {
            bad[name] = empty;
            let check = refused(&with_collateral(&case, &bad));
            let names = [Check::QuoteCollateral, Check::QuoteSignature];
            assert!(names.contains(&check), "{name}: {check}");
        }
    }
    let mut bad = good.clone();
    bad["more"] = "".into();
    assert_eq!(
        refused(&with_collateral(&case, &bad)),
        Check::QuoteCollateral
    );
}

/// Other text for the same value: a field twice, what follows, capitals, other lines, what stands between.
#[test]
fn other_spellings_are_refused() {
    if folder().is_none() {
        return;
    }
    let case = tdx();
    let good = collateral_of(&case);
    let text = good.to_string();
    let mut twice = text.clone();
    twice.insert_str(1, &format!("\"tcb_info\":{},", good["tcb_info"]));
    for bad in [
        twice,
        format!("{text} x"),
        format!("{text}{text}"),
        format!("[{text}]"),
    ] {
        let mut case = case.clone();
        case.endorsements.collateral = Some(bad.into_bytes());
        assert_eq!(refused(&case), Check::QuoteCollateral);
    }
    let edit = |name: &str, edit: &dyn Fn(&str) -> String| {
        let mut bad = good.clone();
        bad[name] = edit(good[name].as_str().unwrap()).into();
        refused(&with_collateral(&case, &bad))
    };
    for name in [
        "root_ca_crl",
        "pck_crl",
        "tcb_info_signature",
        "qe_identity_signature",
    ] {
        assert_eq!(
            edit(name, &|hex| hex.to_uppercase()),
            Check::QuoteCollateral,
            "{name}"
        );
        let check = edit(name, &|hex| format!("{hex}00"));
        assert!(
            [Check::QuoteCollateral, Check::QuoteSignature].contains(&check),
            "{name}"
        );
    }
    for name in ["pck_crl_issuer_chain", "tcb_info_issuer_chain"] {
        let bent: [&dyn Fn(&str) -> String; 6] = [
            &|pem| pem.replace('\n', "\r\n"),
            &|pem| format!("\n{pem}"),
            &|pem| format!("{pem}x"),
            &|pem| pem.replace("-----END", " -----END"),
            &|pem| pem.repeat(2),
            &|pem| {
                pem.split_inclusive("-----END CERTIFICATE-----\n")
                    .take(1)
                    .collect()
            },
        ];
        for bend in bent {
            assert_eq!(edit(name, bend), Check::QuoteCollateral, "{name}");
        }
    }
    // Signed text: a date again, in front.
    let issued = |json: &str| json.replacen('{', "{\"issueDate\":\"2025-07-01T00:00:00Z\",", 1);
    assert_eq!(edit("tcb_info", &issued), Check::QuoteCollateral);
    assert_eq!(edit("qe_identity", &issued), Check::QuoteCollateral);
    // Signed text, spaced differently.
    let spaced = |json: &str| json.replacen(',', ", ", 1);
    assert_eq!(edit("tcb_info", &spaced), Check::QuoteSignature);
}

/// A PCK chain that is stapled again must be the quote's.
#[test]
fn a_stapled_pck_chain_is_the_quotes() {
    if folder().is_none() {
        return;
    }
    let chain_of = |case: &Case| {
        let text = String::from_utf8_lossy(&case.evidence.body).into_owned();
        let from = text.find("-----BEGIN").unwrap();
        let to = text.rfind("CERTIFICATE-----").unwrap() + "CERTIFICATE-----".len();
        text[from..to].to_owned()
    };
    let (case, other) = (tdx(), tdx_debug());
    let mut collateral = collateral_of(&case);
    collateral["pck_certificate_chain"] = chain_of(&case).into();
    assert!(with_collateral(&case, &collateral).verify().is_ok());
    collateral["pck_certificate_chain"] = chain_of(&other).into();
    assert_eq!(
        refused(&with_collateral(&case, &collateral)),
        Check::QuoteCollateral
    );
    collateral["pck_certificate_chain"] = "".into();
    assert_eq!(
        refused(&with_collateral(&case, &collateral)),
        Check::QuoteCollateral
    );
}

/// Intel signs no such thing for these platforms: TCB info for another PCE or of another type, a list from the future,
/// an old TDX module after an update while the TD ran.
#[test]
fn what_real_collateral_does_not_show() {
    if folder().is_none() {
        return;
    }
    let case = tdx();
    let good = collateral_of(&case);
    let pce_id = |from: &str, to: &str| {
        let mut bent = good.clone();
        bent["tcb_info"] = good["tcb_info"]
            .as_str()
            .unwrap()
            .replacen(from, to, 1)
            .into();
        let parsed = Collateral::parse(bent.to_string().as_bytes(), ROOT).unwrap();
        parsed.pce_id().map_err(|e| e.check)
    };
    assert_eq!(pce_id("", ""), Ok(vec![0, 0]));
    assert_eq!(
        pce_id("\"pceId\":\"0000", "\"pceId\":\"0001"),
        Ok(vec![0, 1])
    );
    for (from, to) in [
        ("\"version\":3", "\"version\":4"),
        ("\"tcbType\":0", "\"tcbType\":1"),
        ("\"pceId\":\"0000", "\"pceId\":\"000"),
    ] {
        assert_eq!(pce_id(from, to), Err(Check::QuoteCollateral), "{to}");
    }

    let json = case.endorsements.collateral.as_deref().unwrap();
    let collateral = Collateral::parse(json, ROOT).unwrap();
    let dates = collateral.dates().unwrap();
    let mut claims = QuoteVerifier::new(ROOT.to_vec())
        .verify_with_policy(
            &case.evidence.body,
            collateral.into_inner(),
            case.now.0,
            &NoOpinion,
        )
        .unwrap();
    assert!(check_pce(&claims, &[0, 0]).is_ok() && check_pce(&claims, &[0, 1]).is_err());
    let (from, until) = (claims.latest_issue_date, claims.earliest_expiration_date);
    for (now, good) in [
        (from - 1, false),
        (from, true),
        (until, true),
        (until + 1, false),
    ] {
        assert_eq!(
            check_windows(&claims, Timestamp(now)).is_ok(),
            good,
            "{now}"
        );
    }

    let mut current = claims.platform.tcb_level.clone();
    current.tcb_status = dcap_qvl::TcbStatus::OutOfDate;
    current.advisory_ids = vec!["INTEL-SA-00001".to_owned()];
    claims.platform.current_tcb_level = Some(current);
    let platform = Platform::new(&claims, dates, framing::Authority::Platform);
    assert_eq!(platform.current_status.as_deref(), Some("OutOfDate"));
    assert_eq!(platform.advisories, ["INTEL-SA-00001"]);
}
