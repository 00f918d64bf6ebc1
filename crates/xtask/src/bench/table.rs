//! bench/results.md: a table for each world that was read.

use super::measure::Measured;
use super::read::Round;
use std::fmt::Write as _;

/// The document without its head.
pub fn markdown(rounds: &[Round]) -> String {
    let mut out = String::new();
    rounds.iter().for_each(|round| world(&mut out, round));
    out
}

fn world(out: &mut String, round: &Round) {
    let w = &round.world;
    let _ = writeln!(out, "\n## `{}`: {}\n", w.preset.name, w.preset.what);
    let _ = writeln!(
        out,
        "{} packets, {} SIP messages, {} calls, {} MiB.\n",
        grouped(w.packets),
        grouped(w.sip_messages),
        grouped(w.calls),
        w.octets / (1 << 20)
    );
    out.push_str(
        "| program | packets per CPU second | CPU s | of it kernel | passed s | memory MiB | trunkline is |\n",
    );
    out.push_str("|---|---:|---:|---:|---:|---:|---:|\n");
    let ours = round.rows.iter().find(|(p, _)| p.ours).and_then(|(_, m)| m.as_ref().ok());
    for (program, measured) in &round.rows {
        match measured {
            Ok(run) => row(out, &program.name, w.packets, run, ours.filter(|_| !program.ours)),
            Err(reason) => {
                let _ = writeln!(out, "| {} | {reason} | | | | | |", program.name);
            }
        }
    }
    let Some(ours) = ours else { return };
    budget(out, round, ours);
}

fn row(out: &mut String, name: &str, packets: u64, run: &Measured, ours: Option<&Measured>) {
    let ratio = ours.map_or(String::new(), |ours| ratio(run.cpu_seconds() / ours.cpu_seconds().max(0.01)));
    let _ = writeln!(
        out,
        "| {name} | {} | {:.2} | {:.2} | {:.2} | {} | {ratio} |",
        grouped(per_second(packets, run.cpu_seconds()) as u64),
        run.cpu_seconds(),
        run.system_seconds,
        run.wall_seconds,
        run.memory_kib / 1024
    );
}

/// The budgets of the design beside what one thread did.
fn budget(out: &mut String, round: &Round, ours: &Measured) {
    let preset = round.world.preset;
    let reached = per_second(round.world.packets, ours.cpu_seconds());
    let memory = ours.memory_kib / 1024;
    let verdict = |met: bool| if met { "met" } else { "**missed**" };
    let _ = writeln!(
        out,
        "\nBudget of one thread: {} packets per CPU second ({}), {} MiB ({}).",
        grouped(preset.budget_per_second as u64),
        verdict(reached >= preset.budget_per_second),
        preset.budget_mib,
        verdict(memory < preset.budget_mib)
    );
    if let Some(half) = round.half {
        let _ = writeln!(out, "With half the calls it takes {} MiB.", half.memory_kib / 1024);
    }
    let recorded = round.rows.iter().filter(|(p, _)| p.ours).nth(2).and_then(|(_, m)| m.as_ref().ok());
    if let (Some(recorded), Some(least)) = (recorded, preset.recorded_per_second) {
        let reached = per_second(round.world.packets, recorded.cpu_seconds());
        let verdict = verdict(reached >= least);
        let least = grouped(least as u64);
        let _ = writeln!(out, "With everything recorded and indexed: {least} packets per CPU second ({verdict}).");
    }
    let two = round.rows.iter().filter(|(p, _)| p.ours).nth(1).and_then(|(_, m)| m.as_ref().ok());
    if let Some(two) = two {
        let faster = ours.wall_seconds / two.wall_seconds.max(0.01);
        let _ = writeln!(out, "Two threads end {faster:.2} times as fast as one.");
    }
}

fn per_second(packets: u64, seconds: f64) -> f64 {
    packets as f64 / seconds.max(0.01)
}

/// `12.3 times as fast`, or slower.
fn ratio(ratio: f64) -> String {
    if ratio >= 10.0 { format!("{ratio:.0} times as fast") } else { format!("{ratio:.2} times as fast") }
}

/// `6,012,345`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A document whose lines of prose are no longer than the project's; tables and lists stay as they are.
pub fn wrapped(text: &str) -> String {
    /// Columns.
    const WIDTH: usize = 120;
    let mut out = String::new();
    for line in text.lines() {
        if line.starts_with(['|', '-', '#']) {
            out.push_str(line);
        } else {
            let mut column = 0;
            for word in line.split(' ') {
                let is_new = column + 1 + word.chars().count() > WIDTH;
                out.push_str(if column == 0 {
                    ""
                } else if is_new {
                    "\n"
                } else {
                    " "
                });
                column = word.chars().count() + if column == 0 || is_new { 0 } else { column + 1 };
                out.push_str(word);
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_wrapped_and_tables_are_not() {
        let long = "word ".repeat(40);
        let text = wrapped(&format!("# Title\n\n{}\n| {long} |\n", long.trim_end()));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[1]), (5, "# Title", ""));
        assert_eq!((lines[2].len(), lines[3].len()), (119, 79));
        assert!(lines[4].len() > 200);
    }

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (6_012_345, "6,012,345")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn ratios_say_how_fast() {
        assert_eq!(ratio(15.04), "15 times as fast");
        assert_eq!(ratio(0.5), "0.50 times as fast");
    }
}
