//! The bar plot of a histogram: drawn from the released table, never from data.

use anyhow::Context as _;
use plotters::prelude::*;

/// One bin of the released table.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    pub label: String,
    pub count: i64,
    pub std_error: f64,
}

impl From<&siegel_program::Row> for Bar {
    fn from(row: &siegel_program::Row) -> Self {
        Self {
            label: row.label.clone(),
            count: row.count,
            std_error: row.standard_error,
        }
    }
}

/// How many of the largest bins are drawn.
const SHOWN: usize = 30;

/// Draws the largest bins with error bars of two standard errors.
pub fn bars(title: &str, bars: &[Bar]) -> anyhow::Result<String> {
    let mut shown: Vec<&Bar> = bars.iter().collect();
    shown.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.label.cmp(&b.label)));
    shown.truncate(SHOWN);
    let rows = shown.len().max(1);
    let top = shown
        .iter()
        .map(|bar| bar.count as f64 + 2.0 * bar.std_error)
        .fold(1.0_f64, f64::max);

    let mut svg = String::new();
    let height = 90 + 22 * rows as u32;
    let area = SVGBackend::with_string(&mut svg, (900, height)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(28)
        .y_label_area_size(110)
        .build_cartesian_2d(0.0..top * 1.02, 0.0..rows as f64)
        .context("laying out the plot")?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .x_desc("users (noisy count; line: ±2 standard errors)")
        .y_labels(0)
        .light_line_style(RGBColor(235, 235, 235))
        .draw()?;
    for (row, bar) in shown.iter().enumerate() {
        let y = rows as f64 - row as f64 - 0.5;
        let count = (bar.count as f64).max(0.0);
        chart.draw_series([Rectangle::new(
            [(0.0, y - 0.35), (count, y + 0.35)],
            RGBColor(70, 110, 170).filled(),
        )])?;
        let (low, high) = (
            (bar.count as f64 - 2.0 * bar.std_error).max(0.0),
            bar.count as f64 + 2.0 * bar.std_error,
        );
        chart.draw_series([PathElement::new(vec![(low, y), (high.max(0.0), y)], BLACK)])?;
        let (_, y_px) = chart.backend_coord(&(0.0, y));
        area.draw(&Text::new(
            bar.label.clone(),
            (14, y_px - 7),
            ("sans-serif", 14).into_font().color(&BLACK),
        ))?;
    }
    area.present().context("drawing the plot")?;
    drop(chart);
    drop(area);
    Ok(svg)
}
