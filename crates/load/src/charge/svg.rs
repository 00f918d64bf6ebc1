//! The seconds of a run as a picture: answers a second by type, stacked, and below them the latencies.

use super::gnuplot::failed;
use super::kind::{KINDS, Kind};
use super::timeline::Row;
use std::fmt::Write;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 600.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 24.0;
/// Points of a line; of a longer run several seconds make one.
const POINTS_MAX: usize = 600;
/// Colours of the types, in the order of [`Kind::ALL`]: told apart by those who see few colours, too.
const COLOURS: [&str; KINDS] = ["#4477aa", "#66ccee", "#228833", "#ccbb44", "#bbbbbb"];
const FAILED: &str = "#cc3311";
const P50: &str = "#888888";
const P99: &str = "#aa3377";

/// What the picture looks like where the page is light or dark.
const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#333}.t{font-size:15px;font-weight:600}.n{fill:#666}\
    .b{fill:#fff}.g{stroke:#ddd}.a{stroke:#999}@media(prefers-color-scheme:dark){text{fill:#ddd}.n{fill:#aaa}\
    .b{fill:#181a1b}.g{stroke:#333}.a{stroke:#777}}";

/// One or several seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    second: f64,
    /// Answers a second of each kind.
    answered: [f64; KINDS],
    failed: f64,
    p50_ms: f64,
    p99_ms: f64,
}

/// A panel: where it is, and what its highest value is.
#[derive(Clone, Copy, Debug)]
struct Panel {
    top: f64,
    bottom: f64,
    most: f64,
    step: f64,
    seconds: f64,
}

/// Draws the rows of a run.
pub fn draw(title: &str, rows: &[Row]) -> String {
    let points = points(rows);
    let seconds = rows.last().map_or(1.0, |row| row.second as f64).max(1.0);
    let total = |point: &Point| point.answered.iter().sum::<f64>().max(point.failed);
    let rates = Panel::new(84.0, 350.0, points.iter().map(total).fold(0.0, f64::max), seconds);
    let times = Panel::new(410.0, 556.0, points.iter().map(|point| point.p99_ms).fold(0.0, f64::max), seconds);
    let mut out = String::new();
    // Strings take everything.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n<style>{STYLE}\
         </style>\n<rect class=\"b\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n\
         <text class=\"t\" x=\"{LEFT}\" y=\"30\">{}</text>",
        escaped(title)
    );
    rates.grid("requests/s", &mut out);
    stack(&rates, &points, &mut out);
    rates.line(&points, FAILED, |point| point.failed, &mut out);
    times.grid("milliseconds", &mut out);
    times.line(&points, P50, |point| point.p50_ms, &mut out);
    times.line(&points, P99, |point| point.p99_ms, &mut out);
    times.seconds(&mut out);
    legend(rows, &mut out);
    out.push_str("</svg>\n");
    out
}

/// Rows, several as one where there are many: means of rates, the highest of latencies.
fn points(rows: &[Row]) -> Vec<Point> {
    let each = rows.len().div_ceil(POINTS_MAX).max(1);
    let point = |rows: &[Row]| {
        let many = rows.len() as f64;
        let mut point = Point { second: rows[0].second as f64, ..Point::default() };
        for row in rows {
            let kinds = point.answered.iter_mut().zip(&row.kinds);
            kinds.for_each(|(sum, kind)| *sum += kind.answered as f64 / many);
            point.failed += failed(row) as f64 / many;
            point.p50_ms = point.p50_ms.max(row.p50_ns as f64 / 1e6);
            point.p99_ms = point.p99_ms.max(row.p99_ns as f64 / 1e6);
        }
        point
    };
    rows.chunks(each).map(point).collect()
}

/// Each kind upon those before it.
fn stack(panel: &Panel, points: &[Point], out: &mut String) {
    let mut below = vec![0.0; points.len()];
    for (kind, colour) in COLOURS.iter().enumerate() {
        let above: Vec<f64> = below.iter().zip(points).map(|(low, point)| low + point.answered[kind]).collect();
        if above != below {
            let upper = points.iter().zip(&above).map(|(point, y)| panel.place(point.second, *y));
            let lower = points.iter().zip(&below).rev().map(|(point, y)| panel.place(point.second, *y));
            let path: Vec<String> = upper.chain(lower).collect();
            let _ = writeln!(out, "<path d=\"M{}Z\" fill=\"{colour}\" fill-opacity=\".85\"/>", path.join("L"));
        }
        below = above;
    }
}

fn legend(rows: &[Row], out: &mut String) {
    let came = |kind: &Kind| rows.iter().any(|row| row.kinds[kind.place()].answered > 0);
    let kinds = Kind::ALL.iter().filter(|kind| came(kind)).map(|kind| (kind.name(), COLOURS[kind.place()]));
    let above: Vec<_> = kinds.chain([("failed, timed out", FAILED)]).collect();
    for (entries, y) in [(above, 56.0), (vec![("p50", P50), ("p99", P99)], 386.0)] {
        let mut x = LEFT;
        for (name, colour) in entries {
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"12\" rx=\"2\" fill=\"{colour}\"/>\
                 <text x=\"{}\" y=\"{y}\">{name}</text>",
                y - 10.0,
                x + 18.0
            );
            x += 44.0 + 7.0 * name.len() as f64;
        }
    }
}

impl Panel {
    fn new(top: f64, bottom: f64, most: f64, seconds: f64) -> Self {
        let step = step(most, 5.0);
        Panel { top, bottom, most: (most / step).ceil().max(1.0) * step, step, seconds }
    }

    /// Where a value stands, as `x,y`.
    fn place(&self, second: f64, value: f64) -> String {
        let x = LEFT + (WIDTH - LEFT - RIGHT) * second / self.seconds;
        format!("{x:.1},{:.1}", self.height(value))
    }

    fn height(&self, value: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * value / self.most
    }

    /// Lines across, with what they stand for.
    fn grid(&self, unit: &str, out: &mut String) {
        let steps = (self.most / self.step).round() as u32;
        for value in (0..=steps).map(|nth| f64::from(nth) * self.step) {
            let (y, class) = (self.height(value), if value == 0.0 { "a" } else { "g" });
            let _ = writeln!(
                out,
                "<line class=\"{class}\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"n\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 8.0,
                y + 4.0,
                figure(value)
            );
        }
        let (x, y) = (18.0, (self.top + self.bottom) / 2.0);
        let turned = format!("transform=\"rotate(-90 {x} {y})\"");
        let _ = writeln!(out, "<text class=\"n\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" {turned}>{unit}</text>");
    }

    /// The time below it.
    fn seconds(&self, out: &mut String) {
        let step = step(self.seconds, 10.0).max(1.0);
        for second in (0..=(self.seconds / step) as u32).map(|nth| f64::from(nth) * step) {
            let x = LEFT + (WIDTH - LEFT - RIGHT) * second / self.seconds;
            let (y, text) = (self.bottom + 18.0, figure(second));
            let _ = writeln!(out, "<text class=\"n\" x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{text} s</text>");
        }
    }

    fn line(&self, points: &[Point], colour: &str, of: impl Fn(&Point) -> f64, out: &mut String) {
        let path: Vec<String> = points.iter().map(|point| self.place(point.second, of(point))).collect();
        if !path.is_empty() {
            let path = path.join("L");
            let _ = writeln!(
                out,
                "<path d=\"M{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-linejoin=\"round\"/>"
            );
        }
    }
}

/// A round step, so that at most so many reach the highest value.
fn step(most: f64, steps: f64) -> f64 {
    let rough = (most / steps).max(1e-3);
    let power = 10f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|round| round * power >= rough * 0.999);
    round.unwrap_or(10.0) * power
}

/// A number on an axis.
fn figure(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{}M", trimmed(value / 1e6)),
        value if value >= 1e4 => format!("{}k", trimmed(value / 1e3)),
        value => trimmed(value),
    }
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::timeline::KindSecond;

    fn rows(count: u64) -> Vec<Row> {
        let row = |second| {
            let mut row = Row { second, p50_ns: 400_000, p99_ns: 1_500_000, most_ns: 9_000_000, ..Row::default() };
            row.kinds[0] = KindSecond { sent: 100, answered: 100, failed: 3, timeouts: 1 };
            row.kinds[1] = KindSecond { sent: 800, answered: 800, failed: 0, timeouts: 0 };
            row
        };
        (0..count).map(row).collect()
    }

    #[test]
    fn steps_and_figures_are_round() {
        assert_eq!([0.7, 3.0, 900.0, 43_210.0, 0.0].map(|most| step(most, 5.0)), [0.2, 1.0, 200.0, 10_000.0, 0.001]);
        assert_eq!([0.25, 9000.0, 12_500.0, 2e6].map(figure), ["0.25", "9000", "12.5k", "2M"]);
    }

    #[test]
    fn a_picture_has_what_came_and_no_more_points_than_it_can_show() {
        let picture = draw("load <a&b>", &rows(10));
        assert!(picture.contains("load &lt;a&amp;b&gt;") && picture.contains(">update<"), "{picture}");
        assert!(!picture.contains(">event<") && picture.contains(">1000<") && !picture.contains("NaN"), "{picture}");
        assert_eq!(picture.matches("Z\" fill=").count(), 2);
        assert!(points(&rows(80_000)).len() <= POINTS_MAX && points(&rows(600)).len() == 600);
        assert!(!draw("nothing", &[]).contains("NaN"));
    }

    #[test]
    fn figures_and_script_for_gnuplot() {
        use crate::charge::gnuplot::{figures, script};
        let text = figures(&rows(2));
        assert_eq!(text.lines().nth(1), Some("0 100 800 0 0 0 4 0.400 1.500 9.000"));
        let script = script("it's", std::path::Path::new("x.dat"), &rows(2));
        assert!(
            script.contains("'it''s'") && script.contains("using 1:3") && !script.contains("using 1:5"),
            "{script}"
        );
    }
}
