//! What the names I1 to I17 mean, for readers who do not know them.

/// In a sentence; `None` for a name that is none.
pub(crate) fn meaning(name: &str) -> Option<(&'static str, &'static str)> {
    ALL.iter().find(|(known, _)| *known == name).copied()
}

const ALL: [(&str, &str); 17] = [
    (
        "I1",
        "Publish before use: a device encrypts only to what it has found in the public log, watched by witnesses that it knows.",
    ),
    (
        "I2",
        "Hash what you enforce: what a digest names is read from exactly the bytes that were hashed.",
    ),
    (
        "I3",
        "No policy, no key: a key goes only to a program and a machine that the policy of that key names.",
    ),
    (
        "I4",
        "One voice per user: however many uploads a person sends, they count within one bound.",
    ),
    (
        "I5",
        "Only private results leave: the one way from people's data to anything else adds noise.",
    ),
    (
        "I6",
        "Budgets only shrink: a run is paid for before it gets a key, and what was spent does not come back.",
    ),
    (
        "I7",
        "Same bytes: the same uploads and program give the same result, whoever computes it.",
    ),
    (
        "I8",
        "Any process may die: a run that lost a machine ends with the same bytes, or with an error.",
    ),
    (
        "I9",
        "Limited in time: no key, policy or endorsement works after its end.",
    ),
    (
        "I10",
        "Keys live in memory only: a key service that restarts is a new member without the old keys.",
    ),
    (
        "I11",
        "A simulation says so: what no hardware protects is labelled INSECURE SIMULATION everywhere.",
    ),
    (
        "I12",
        "Errors, sizes and timing are channels: none of them depends on what people sent.",
    ),
    (
        "I13",
        "Secrets have a type: keys and plain data cannot be printed or copied by accident.",
    ),
    (
        "I14",
        "Hostile input: whatever arrives is bounded, and refused with a reason.",
    ),
    (
        "I15",
        "Time and randomness are inputs: nothing that decides reads a clock or a random source by itself.",
    ),
    (
        "I16",
        "A small trusted base: what must be trusted is little, and counted.",
    ),
    (
        "I17",
        "Public before readable: a result can be read only after its receipt is in the log, in one chain without gaps.",
    ),
];
