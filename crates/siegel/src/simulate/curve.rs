//! Accuracy and budget by round, as a picture: drawn from what the report says.

use anyhow::Context as _;
use plotters::coord::Shift;
use plotters::prelude::*;

use super::report::TrainingTruth;

const SIZE: (u32, u32) = (900, 620);
/// Rows of pixels for the accuracies; the rest is for the budget.
const UPPER: u32 = 370;
const BLUE: RGBColor = RGBColor(70, 110, 170);
const RED: RGBColor = RGBColor(170, 80, 60);
const GREY: RGBColor = RGBColor(120, 120, 120);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Two panels over the rounds: above how often the released models are right, with the baseline;
/// below the ε that is spent by then. `epsilon` is what the policy allows.
pub(super) fn draw(title: &str, truth: &TrainingTruth, epsilon: f64) -> anyhow::Result<String> {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let (upper, lower) = area.split_vertically(UPPER);
    let rounds = truth.by_round.iter().map(|at| at.round as f64);
    let right: Vec<_> = rounds
        .clone()
        .zip(truth.by_round.iter().map(|at| 100.0 * at.accuracy))
        .collect();
    let spent: Vec<_> = rounds
        .zip(truth.by_round.iter().map(|at| at.epsilon))
        .collect();
    let unigram = format!(
        "always the most frequent symbol: {:.1} %",
        100.0 * truth.unigram
    );
    let panel = Panel {
        title,
        x: "",
        y: "held-out characters guessed right, %",
        points: &right,
        line: (100.0 * truth.unigram, &unigram),
        color: BLUE,
    };
    panel.draw(&upper)?;
    let allowed = format!("the policy allows {epsilon}");
    let panel = Panel {
        title: "",
        x: "round",
        y: "ε spent",
        points: &spent,
        line: (epsilon, &allowed),
        color: RED,
    };
    panel.draw(&lower)?;
    area.present().context("drawing the plot")?;
    drop((upper, lower, area));
    Ok(svg)
}

struct Panel<'a> {
    title: &'a str,
    x: &'a str,
    y: &'a str,
    points: &'a [(f64, f64)],
    /// A level to compare with, and its words.
    line: (f64, &'a str),
    color: RGBColor,
}

impl Panel<'_> {
    fn draw(&self, area: &Area<'_>) -> anyhow::Result<()> {
        let last = self.points.iter().fold(1.0_f64, |max, (x, _)| max.max(*x));
        let top = self
            .points
            .iter()
            .fold(self.line.0, |max, (_, y)| max.max(*y));
        // Room above for the last value.
        let top = if top > 0.0 { top * 1.2 } else { 1.0 };
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(if self.x.is_empty() { 24 } else { 42 })
            .y_label_area_size(56)
            .build_cartesian_2d(0.0..last + 0.5, 0.0..top)
            .context("laying out the plot")?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .x_labels(12)
            .y_labels(6)
            .label_style(("sans-serif", 13))
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| format!("{y:.0}"))
            .light_line_style(WHITE)
            .draw()?;
        let (level, words) = self.line;
        let dashes = (0..).map(|n| f64::from(n) * last / 60.0);
        for from in dashes.take_while(|from| *from < last).step_by(2) {
            let to = from + last / 60.0;
            chart.draw_series([PathElement::new(vec![(from, level), (to, level)], GREY)])?;
        }
        chart.draw_series([PathElement::new(
            self.points.to_vec(),
            self.color.stroke_width(2),
        )])?;
        let dots = self
            .points
            .iter()
            .map(|at| Circle::new(*at, 3, self.color.filled()));
        chart.draw_series(dots)?;
        let (x, y) = chart.backend_coord(&(0.0, level));
        let (left, above) = area.get_base_pixel();
        let style = ("sans-serif", 14).into_font().color(&GREY);
        area.draw(&Text::new(
            words.to_owned(),
            (x - left + 8, y - above + 5),
            style,
        ))?;
        if let Some((x, y)) = self.points.last() {
            let (x, y) = chart.backend_coord(&(*x, *y));
            let style = ("sans-serif", 14).into_font().color(&self.color);
            let value = format!("{:.1}", self.points.last().map_or(0.0, |at| at.1));
            area.draw(&Text::new(value, (x - left - 30, y - above - 20), style))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::RoundTruth;
    use super::*;

    fn truth(rounds: u64) -> TrainingTruth {
        let round = |round: u64| RoundTruth {
            round,
            accuracy: 0.36 * (round as f64 / rounds as f64).sqrt(),
            rho: "0".into(),
            epsilon: 8.0 * (round as f64 / rounds as f64).sqrt(),
        };
        TrainingTruth {
            accuracy: 0.36,
            unigram: 0.18,
            users: 176,
            characters: 55_000,
            by_round: (1..=rounds).map(round).collect(),
        }
    }

    // Catches a picture without its points, its baseline, or the words that keep it honest.
    #[test]
    fn every_round_has_its_points() {
        for rounds in [1, 20] {
            let svg = draw("a title (INSECURE SIMULATION)", &truth(rounds), 8.0).unwrap();
            assert_eq!(svg.matches("<circle").count() as u64, 2 * rounds);
            for words in [
                "INSECURE SIMULATION",
                "18.0 %",
                "the policy allows 8",
                ">36.0",
            ] {
                assert!(svg.replace('\n', "").contains(words), "{words}: {svg}");
            }
        }
    }

    #[test]
    fn nothing_right_is_drawn_too() {
        let mut truth = truth(3);
        truth.unigram = 0.0;
        truth.by_round.iter_mut().for_each(|at| at.accuracy = 0.0);
        assert!(draw("t", &truth, 2.0).is_ok());
    }
}
