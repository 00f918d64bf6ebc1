//! The seconds of a run for gnuplot: a script, and the figures beside it.

use super::kind::{KINDS, Kind};
use super::timeline::{KindSecond, Row};
use std::fmt::Write;
use std::path::Path;

/// A line a second: the second, answers of each kind, failures, and milliseconds.
pub fn figures(rows: &[Row]) -> String {
    let mut out = String::from("# second");
    // Strings take everything.
    Kind::ALL.iter().for_each(|kind| _ = write!(out, " {}", kind.name()));
    out.push_str(" failed p50_ms p99_ms max_ms\n");
    for row in rows {
        let _ = write!(out, "{}", row.second);
        row.kinds.iter().for_each(|kind| _ = write!(out, " {}", kind.answered));
        let [p50, p99, most] = [row.p50_ns, row.p99_ns, row.most_ns].map(|ns| ns as f64 / 1e6);
        let _ = writeln!(out, " {} {p50:.3} {p99:.3} {most:.3}", failed(row));
    }
    out
}

/// Answers that were no success, and requests that were given up.
pub fn failed(row: &Row) -> u64 {
    row.all(|kind: &KindSecond| kind.failed + kind.timeouts)
}

/// A script that draws requests a second by kind above, and latencies below, as a picture beside it.
pub fn script(title: &str, figures: &Path, rows: &[Row]) -> String {
    let quoted = |path: &Path| path.to_string_lossy().replace('\'', "''");
    let mut plots = Vec::new();
    for (column, kind) in (2..).zip(Kind::ALL) {
        if rows.iter().any(|row| row.kinds[kind.place()].answered > 0) {
            plots.push(format!("figures using 1:{column} with lines lw 2 title '{}'", kind.name()));
        }
    }
    plots.push(format!("figures using 1:{} with lines lw 2 lc rgb '#c0392b' title 'failed'", KINDS + 2));
    format!(
        "figures = '{}'\nset terminal svg size 960,640 enhanced background rgb 'white'\nset output '{}'\n\
         set multiplot layout 2,1 title '{}' noenhanced\nset grid\nset key outside right\nset xlabel 'seconds'\n\
         set yrange [0:*]\nset ylabel 'requests/s'\nplot {}\nset ylabel 'milliseconds'\n\
         plot figures using 1:{} with lines lw 2 title 'p50', figures using 1:{} with lines lw 2 title 'p99'\n\
         unset multiplot\n",
        quoted(figures),
        quoted(&figures.with_extension("gnuplot.svg")),
        title.replace('\'', "''"),
        plots.join(", "),
        KINDS + 3,
        KINDS + 4
    )
}
