//! I3, I11: policies for real TEEs, from files of reference values.

use super::*;

/// The folder of a production cluster whose members are guests as `policies/reference/genoa.toml` says.
fn production() -> Folder {
    const GENOA: &str = include_str!("../../../../../policies/reference/genoa.toml");
    let folder = Folder::new();
    let values: siegel_attest::hardware::ReferenceValues = toml::from_str(GENOA).unwrap();
    let genesis = std::fs::read(folder.path("genesis.json")).unwrap();
    let mut genesis = Genesis::parse(&genesis).unwrap();
    let witness = |n: u8| siegel_ident::NamedKey {
        name: format!("w{n}.example"),
        operator: format!("operator {n}"),
        key: [n; 32],
    };
    genesis.config.profile = Profile::Production;
    genesis.config.simulation_root = None;
    genesis.config.peers = values.into();
    genesis.config.witnesses = siegel_ident::WitnessQuorum {
        required: 2,
        max_age: siegel_ident::Seconds(3600),
        witnesses: (1..=2).map(witness).collect(),
    };
    folder.put("genesis.json", &genesis.to_bytes().unwrap());
    folder.put(
        "word-histogram.toml",
        TOML.replace("\"simulation\"", "\"production\"").as_bytes(),
    );
    for (role, byte) in [("root", "01"), ("worker", "02"), ("kms", "00")] {
        let guest = GENOA.replace(&"00".repeat(48), &byte.repeat(48));
        folder.put(&format!("{role}.toml"), guest.as_bytes());
    }
    folder
}

fn references(folder: &Folder) -> Vec<String> {
    let one = |role| {
        format!(
            "siegel-{role}={}",
            folder.path(&format!("{role}.toml")).display()
        )
    };
    ["root", "worker", "kms"].map(one).to_vec()
}

/// I3. Catches a policy for real TEEs that cannot be written, or whose rules get lost on the way.
#[tokio::test]
async fn i3_a_production_policy_names_real_tees() {
    let folder = production();
    let args = BuildArgs {
        binaries: None,
        references: references(&folder),
        ..folder.build_args()
    };
    build(&args, NOW).unwrap();
    let policy = AccessPolicy::parse(&std::fs::read(folder.path("policy.json")).unwrap()).unwrap();
    assert_eq!(policy.profile, Profile::Production);
    let values = [
        &policy.kms.reference_values,
        &policy.roles.root.reference_values,
        &policy.roles.worker.reference_values,
    ];
    for (values, byte) in values.into_iter().zip([0u8, 1, 2]) {
        let [ReferenceValue::SevSnp(value)] = &values[..] else {
            panic!("{values:?}");
        };
        let wanted = siegel_attest::hardware::Hex([byte; 48]);
        assert_eq!(
            value.measurement,
            siegel_attest::hardware::Rule::Exact(wanted)
        );
    }
    let said: Vec<_> = folder
        .check(NOW)
        .findings()
        .iter()
        .map(|f| f.id.clone())
        .collect();
    assert!(said.contains(&"any-machine".to_owned()), "{said:?}");
    assert!(
        !said.contains(&"insecure-simulation".to_owned()),
        "{said:?}"
    );
    let shown = show(&folder.show_args(), NOW).await.unwrap().text();
    assert!(
        shown.contains("sev-snp TEE \"production guest on Genoa\""),
        "{shown}"
    );
}

/// I3, I11. Catches production that takes a simulated measurement, or a guest that may be anything.
#[test]
fn i3_a_production_policy_leaves_nothing_open() {
    let folder = production();
    let with = |references, binaries| {
        let args = BuildArgs {
            binaries,
            references,
            ..folder.build_args()
        };
        build(&args, NOW)
    };
    let all = references(&folder);
    let message = refusal(
        with(Vec::new(), Some(folder.0.path().to_owned())),
        Exit::Usage,
        "bad-policy",
    );
    assert!(message.contains("must be a real TEE"), "{message}");
    let message = refusal(with(all[..2].to_vec(), None), Exit::Usage, "bad-reference");
    assert!(message.contains("siegel-kms"), "{message}");
    let again = [&all[..], &all[..1]].concat();
    refusal(with(again, None), Exit::Usage, "bad-reference");
    let stranger = [&all[..], &[all[0].replace("siegel-root", "siegel-boot")]].concat();
    refusal(with(stranger, None), Exit::Usage, "bad-reference");
    refusal(
        with(vec!["siegel-root".into()], None),
        Exit::Usage,
        "bad-reference",
    );
    folder.put("root.toml", b"# none\n");
    refusal(with(all.clone(), None), Exit::Usage, "bad-reference");
    let open = std::fs::read_to_string(folder.path("worker.toml")).unwrap();
    let open = open.replace(
        "crl = { max_age_s = 2592000 }",
        "crl = { ignore = \"a test\" }",
    );
    folder.put("root.toml", open.as_bytes());
    let message = refusal(with(all, None), Exit::Usage, "bad-policy");
    assert!(message.contains("crl must have a maximum age"), "{message}");
}
