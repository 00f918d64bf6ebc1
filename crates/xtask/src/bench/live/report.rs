//! bench/live.md: a table for each size of frames, and one of a ring that is too small.

use super::recorder::RING_MIB;
use super::{Load, Row, Run, SMALL_RING_MIB, STOP_MS};
use crate::bench::table::grouped;
use std::fmt::Write as _;

/// The document without its head.
pub fn markdown(tables: &[(Load, Vec<Row>)], small: &[Row]) -> String {
    let mut out = format!(
        "\nA veth pair in a network namespace, 1,000 RTP streams, a sender on a processor of its own that sends as \
         fast as the pair takes it; every program has a ring of {RING_MIB} MiB and writes to the same disk. \
         *Unaccounted* is what was sent and is neither in the file nor told as dropped.\n"
    );
    for (load, rows) in tables {
        let _ = writeln!(out, "\n## Frames of {} octets\n", grouped(load.octets as u64));
        out.push_str(HEAD);
        rows.iter().for_each(|row| line(&mut out, row));
        verdict(&mut out, rows);
    }
    ring_too_small(&mut out, small);
    out
}

const HEAD: &str = "\
| program | sent | Mpps | Gbit/s | in file | dropped, told | dropped by the pair | unaccounted | CPU s | \
packets per CPU second | memory MiB | without loss up to |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
";

fn line(out: &mut String, row: &Row) {
    let name = row.recorder.name();
    let _ = match &row.run {
        Ok(run) => writeln!(out, "| {name} | {} | {} |", figures(run), lossless(row, run)),
        Err(why) => writeln!(out, "| {name} | {why} | | | | | | | | | | |"),
    };
}

fn lossless(row: &Row, run: &Run) -> String {
    match row.lossless {
        None => format!("{:.2} Mpps", run.sent.rate() / 1e6),
        Some(rate) if rate > 0.0 => format!("**{:.2} Mpps**", rate / 1e6),
        Some(_) => "no rate that was tried".to_owned(),
    }
}

fn figures(run: &Run) -> String {
    let cost = &run.recorded.cost;
    let each = run.recorded.in_file as f64 / cost.cpu_seconds().max(0.01);
    format!(
        "{} | {:.2} | {:.2} | {} | {} | {} | {} | {:.2} | {} | {}",
        grouped(run.sent.packets),
        run.sent.rate() / 1e6,
        run.sent.bits() / 1e9,
        grouped(run.recorded.in_file),
        grouped(run.recorded.told),
        grouped(run.before_tap()),
        run.untold(),
        cost.cpu_seconds(),
        grouped(each as u64),
        cost.memory_kib / 1024
    )
}

fn verdict(out: &mut String, rows: &[Row]) {
    let ours = rows.iter().filter(|row| row.recorder.is_ours());
    let met = ours.map(super::is_well).fold(true, |all, well| all & well);
    let word = if met { "met" } else { "**missed**" };
    let _ = writeln!(out, "\nBudget: no loss from source to log with either source ({word}).");
}

fn ring_too_small(out: &mut String, small: &[Row]) {
    let _ = writeln!(
        out,
        "\n## A ring that is too small\n\nA ring of {SMALL_RING_MIB} MiB, and the program is stopped for {STOP_MS} ms \
         again and again: sent = in file + told.\n"
    );
    out.push_str("| program | sent | in file | dropped, told | dropped by the pair | unaccounted |\n");
    out.push_str("|---|---:|---:|---:|---:|---:|\n");
    for row in small {
        let name = row.recorder.name();
        let _ = match &row.run {
            Ok(run) => writeln!(
                out,
                "| {name} | {} | {} | {} | {} | {} |",
                grouped(run.sent.packets),
                grouped(run.recorded.in_file),
                grouped(run.recorded.told),
                grouped(run.before_tap()),
                run.untold()
            ),
            Err(why) => writeln!(out, "| {name} | {why} | | | | |"),
        };
    }
}
