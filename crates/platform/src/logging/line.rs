//! One event as one line of JSON.

use std::fmt::{Debug, Write as _};
use std::time::Duration;

use tracing::Event;
use tracing::field::{Field, Visit};

/// `ts` is unix seconds with milliseconds.
pub(super) fn render(ts: Duration, run: &str, process: &str, event: &Event<'_>) -> String {
    let mut out = Line(format!(
        "{{\"ts\":{}.{:03}",
        ts.as_secs(),
        ts.subsec_millis()
    ));
    out.text("level", event.metadata().level().as_str());
    out.text("run", run);
    out.text("process", process);
    out.text("target", event.metadata().target());
    event.record(&mut out);
    out.0.push_str("}\n");
    out.0
}

struct Line(String);

impl Line {
    fn key(&mut self, name: &str) {
        self.0.push(',');
        quote(&mut self.0, name);
        self.0.push(':');
    }
    fn text(&mut self, name: &str, value: &str) {
        self.key(name);
        quote(&mut self.0, value);
    }
    fn bare(&mut self, name: &str, value: impl std::fmt::Display) {
        self.key(name);
        let _ = write!(self.0, "{value}");
    }
}

impl Visit for Line {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.bare(field.name(), value);
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.bare(field.name(), value);
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.bare(field.name(), value);
    }
    fn record_f64(&mut self, field: &Field, value: f64) {
        match value.is_finite() {
            true => self.bare(field.name(), value),
            false => self.text(field.name(), &value.to_string()),
        }
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field.name(), value);
    }
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.text(field.name(), &format!("{value:?}"));
    }
}

fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::quote;

    // I14: catches a value that breaks out of its JSON string.
    #[test]
    fn hostile_text_stays_inside_its_quotes() {
        let mut out = String::new();
        quote(&mut out, "a\"b\\c\nd\u{1}é");
        assert_eq!(out, "\"a\\\"b\\\\c\\nd\\u0001é\"");
    }
}
