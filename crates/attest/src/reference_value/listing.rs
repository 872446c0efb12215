//! A reference value in plain words, field by field.

use serde_json::Value;

use super::ReferenceValue;

/// One field and what is accepted there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRule {
    /// The field, as it is written.
    pub field: String,
    /// What is accepted; of an open field the author's reason.
    pub accepts: String,
    /// Whether it is left open.
    pub open: bool,
}

impl ReferenceValue {
    /// Every field in the order of its document. One line each, without control characters.
    pub fn rules(&self) -> Vec<ListedRule> {
        let mut rules = Vec::new();
        // Plain data: it has a JSON form.
        if let Ok(value) = serde_json::to_value(self) {
            list("", &value, &mut rules);
        }
        rules.retain(|rule| rule.field != "tee" && rule.field != "name");
        rules
    }
}

fn list(path: &str, value: &Value, rules: &mut Vec<ListedRule>) {
    let Value::Object(fields) = value else {
        return push(path, plain(value), false, rules);
    };
    let mut all = fields.iter();
    if let (Some((word, value)), None) = (all.next(), all.next()) {
        let rule = match word.as_str() {
            "exact" => Some((format!("exactly {}", plain(value)), false)),
            "any_of" => Some((format!("one of {}", plain(value)), false)),
            "at_least" => Some((format!("at least {}", plain(value)), false)),
            "max_age_s" => Some((format!("at most {} s old", plain(value)), false)),
            "only" => Some((format!("none but {}", plain(value)), false)),
            "replay" => Some((format!("must replay, with {}", plain(value)), false)),
            "ignore" => Some((plain(value), true)),
            _ => None,
        };
        if let Some((accepts, open)) = rule {
            return push(path, accepts, open, rules);
        }
    }
    for (name, value) in fields {
        let path = match path {
            "" => name.clone(),
            path => format!("{path}.{name}"),
        };
        list(&path, value, rules);
    }
}

fn push(path: &str, accepts: String, open: bool, rules: &mut Vec<ListedRule>) {
    rules.push(ListedRule {
        field: path.to_owned(),
        accepts,
        open,
    });
}

fn plain(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(all) if all.is_empty() => "nothing".to_owned(),
        Value::Array(all) if all.iter().all(|one| !one.is_object()) => {
            all.iter().map(plain).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    };
    text.chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}
