//! bench/find.md: the log, and a table for each question.

use super::day::{Day, Segment};
use super::{Answer, Found};
use crate::bench::table::grouped;
use std::fmt::Write as _;

/// The document without its head.
pub fn markdown(day: &Day, answers: &[Answer]) -> String {
    let mut out = log(day);
    for answer in answers {
        let question = &answer.question;
        let _ = writeln!(out, "\n## {}{}\n", question.what[..1].to_uppercase(), &question.what[1..]);
        let _ = writeln!(out, "`{}`; tcpdump reads {} files.\n", question.theirs, grouped(question.files.len() as u64));
        out.push_str("| program | packets | first after ms | all after ms | CPU s | memory MiB |\n");
        out.push_str("|---|---:|---:|---:|---:|---:|\n");
        line(&mut out, "trunkline extract, cold", &answer.cold);
        line(&mut out, "trunkline extract, again", &answer.warm);
        line(&mut out, "tcpdump -V, cold", &answer.theirs);
        let met = answer.cold.as_ref().is_ok_and(|found| found.all_ms <= question.budget_ms);
        let word = if met { "met" } else { "**missed**" };
        let _ = writeln!(out, "\nBudget: all packets after {:.0} ms, cold ({word}).", question.budget_ms);
    }
    out
}

fn log(day: &Day) -> String {
    let sum = |of: &[Segment], value: fn(&Segment) -> f64| of.iter().map(value).sum::<f64>();
    let gib = |octets: f64| octets / f64::from(1 << 30);
    format!(
        "\nA day's log of {:.1} GiB, {} segments, {} packets, indexes of {:.1} MiB. {:.1} GiB of it are three minutes \
         of a thousand G.711 calls at once ({} packets), recorded by the program; segments of the other minutes have \
         holes between their packets, so that all takes {:.1} GiB of the disk. Cold: the page cache was emptied, and \
         only the programs were read again.\n",
        gib(sum(&day.all, |s| s.octets)),
        grouped(day.all.len() as u64),
        grouped(sum(&day.all, |s| s.packets) as u64),
        sum(&day.all, |s| s.index_octets) / f64::from(1 << 20),
        gib(sum(&day.busy, |s| s.octets)),
        grouped(sum(&day.busy, |s| s.packets) as u64),
        gib(day.disk_octets as f64),
    )
}

fn line(out: &mut String, name: &str, found: &Result<Found, String>) {
    let _ = match found {
        Ok(found) => writeln!(
            out,
            "| {name} | {} | {:.0} | {:.0} | {:.2} | {} |",
            grouped(found.packets),
            found.first_ms,
            found.all_ms,
            found.cost.cpu_seconds(),
            found.cost.memory_kib / 1024
        ),
        Err(why) => writeln!(out, "| {name} | {why} | | | | |"),
    };
}
