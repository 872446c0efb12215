//! A step line of what was spent, under the line of the total.

use siegel_audit::AccountReport;
use siegel_ident::{NanoRho, Timestamp};
use siegel_policy::Utc;

const LEFT: f64 = 104.0;
const TOP: f64 = 26.0;
/// Of the plot itself.
const WIDTH: f64 = 430.0;
const HEIGHT: f64 = 150.0;

/// Ready to be written into SVG. Coordinates are those of its view box.
pub(crate) struct Chart {
    /// In words, for who does not see it.
    pub(crate) title: String,
    pub(crate) spent: String,
    pub(crate) area: String,
    pub(crate) total: String,
    pub(crate) ticks: Vec<Tick>,
    pub(crate) from: String,
    pub(crate) to: String,
    /// Where the two lines end.
    pub(crate) spent_now: String,
    pub(crate) total_now: String,
}

/// A line across, at a value.
pub(crate) struct Tick {
    pub(crate) y: f64,
    pub(crate) label: String,
}

impl Chart {
    /// `None` if nothing ever happened.
    pub(crate) fn of(history: &[AccountReport]) -> Option<Self> {
        let (first, last) = (history.first()?, history.last()?);
        let most = history
            .iter()
            .map(|point| point.spent.rho_nano.max(point.total.rho_nano))
            .max()?
            .max(NanoRho(1));
        let scale = Scale {
            from: first.at,
            to: last.at,
            count: history.len(),
            most,
        };
        let spent = scale.steps(history, |point| point.spent.rho_nano);
        let total = scale.steps(history, |point| point.total.rho_nano);
        let (spent_now, total_now) = (last.spent.rho_nano, last.total.rho_nano);
        let bottom = TOP + HEIGHT;
        let area = format!("{spent} V{bottom:.1} H{LEFT:.1} Z");
        let half = NanoRho(most.0 / 2);
        let ticks = [NanoRho(0), half, most].map(|value| Tick {
            y: scale.y(value),
            label: plain(value),
        });
        Some(Self {
            title: format!(
                "From {} to {} the spent budget went from ρ = {} to {spent_now}, of {total_now} in all.",
                Utc(first.at),
                Utc(last.at),
                first.spent.rho_nano,
            ),
            spent,
            area,
            total,
            ticks: ticks.into(),
            from: Utc(first.at).to_string(),
            to: Utc(last.at).to_string(),
            spent_now: spent_now.to_string(),
            total_now: total_now.to_string(),
        })
    }
}

/// Without the zeros at its end.
fn plain(value: NanoRho) -> String {
    let text = value.to_string();
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

struct Scale {
    from: Timestamp,
    to: Timestamp,
    count: usize,
    most: NanoRho,
}

impl Scale {
    /// Where the `n`th of all points stands: by time, or in even steps if all of it happened within
    /// one second.
    fn x(&self, n: usize, at: Timestamp) -> f64 {
        let span = self.to.0.saturating_sub(self.from.0);
        let share = match span {
            0 if self.count < 2 => 0.0,
            0 => n as f64 / (self.count - 1) as f64,
            span => at.0.saturating_sub(self.from.0) as f64 / span as f64,
        };
        LEFT + WIDTH * share.min(1.0)
    }

    fn y(&self, value: NanoRho) -> f64 {
        TOP + HEIGHT * (1.0 - value.0 as f64 / self.most.0 as f64)
    }

    /// A path of steps: flat until the next change. Changes that fall on one place of the drawing are
    /// one step, so that a long history stays a small picture.
    fn steps(
        &self,
        history: &[AccountReport],
        value: impl Fn(&AccountReport) -> NanoRho,
    ) -> String {
        let mut path = String::new();
        let mut drawn: Option<(String, String)> = None;
        let mut points = history.iter().enumerate().peekable();
        while let Some((n, point)) = points.next() {
            let x = format!("{:.1}", self.x(n, point.at));
            let next = points.peek().map(|(n, next)| self.x(*n, next.at));
            if next.is_some_and(|next| format!("{next:.1}") == x) && drawn.is_some() {
                continue;
            }
            let y = format!("{:.1}", self.y(value(point)));
            match &drawn {
                None => path.push_str(&format!("M{x} {y}")),
                Some((_, before)) if *before == y => {}
                Some(_) => path.push_str(&format!(" H{x} V{y}")),
            }
            drawn = Some((x, y));
        }
        let end = LEFT + WIDTH;
        path.push_str(&format!(" H{end:.1}"));
        path
    }
}

#[cfg(test)]
mod tests;
