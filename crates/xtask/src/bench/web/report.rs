//! bench/web.md.

use super::super::calls::DAYS;
use super::super::example::number;
use super::super::table::grouped;
use super::load::CONNECTIONS;
use super::{Measured, NEWEST, Row, SECONDS};
use std::fmt::Write as _;

/// The document without its head.
pub fn markdown(measured: &Measured) -> String {
    let mut out = format!(
        "\n{} calls over {DAYS} days, {:.1} GiB. The budgets hold for ten million.\n\n## The API\n\nwrk with \
         {CONNECTIONS} connections on the same machine, {SECONDS} s for each question after one that is not counted; \
         wrk's own processor time is taken from the server. CPU is that of the server, in microseconds an answer; its \
         highest resident memory over all questions was {} MiB. *Paced*: with 30 ms between two requests of a \
         connection, because a look at a call stands in the audit log and one user may make 3,000 a minute.\n\n",
        grouped(number(&measured.made, "calls") as u64),
        number(&measured.made, "octets") / f64::from(1 << 30),
        measured.memory_kib / 1024,
    );
    out.push_str("| asked | | octets | answers/s | p50 ms | p99 ms | CPU s | CPU µs each |\n");
    out.push_str("|---|---|---:|---:|---:|---:|---:|---:|\n");
    measured.rows.iter().for_each(|row| line(&mut out, row));
    peer(&mut out, measured);
    pages(&mut out, measured);
    out
}

fn line(out: &mut String, row: &Row) {
    let loaded = &row.loaded;
    let each = row.cpu_seconds * 1e6 / (loaded.requests.max(1) as f64);
    let failed = if loaded.failed > 0 { format!(" **{} failed**", loaded.failed) } else { String::new() };
    let path = row.path.replace("%2B", "+").replace("%3C", "<");
    let _ = writeln!(
        out,
        "| {}{failed} | `{}` | {} | {} | {:.2} | {:.2} | {:.2} | {each:.0} |",
        row.name,
        shortened(&path),
        grouped(row.octets as u64),
        grouped(loaded.rate as u64),
        loaded.p50_ms,
        loaded.p99_ms,
        row.cpu_seconds,
    );
}

/// An identifier in a path, which is another one each time the calls are made otherwise, as `ID`.
fn shortened(path: &str) -> String {
    path.split('/')
        .map(|part| if part.len() == 36 && !part.contains('?') { "ID" } else { part })
        .collect::<Vec<_>>()
        .join("/")
}

fn peer(out: &mut String, measured: &Measured) {
    let ours = measured.rows.iter().find(|row| row.name == NEWEST);
    let _ = match (&measured.peer, ours) {
        (Ok(peer), Some(ours)) => writeln!(
            out,
            "| nginx: a file of the same octets as the {NEWEST} | | {} | {} | {:.2} | {:.2} | | |\n\nnginx answers \
             {:.1} times as often: so much is HTTP alone, the rest is finding the calls and telling them.",
            grouped(ours.octets as u64),
            grouped(peer.rate as u64),
            peer.p50_ms,
            peer.p99_ms,
            peer.rate / ours.loaded.rate.max(1.0),
        ),
        (Err(why), _) => writeln!(out, "\nBeside nginx: left out, {why}."),
        (Ok(_), None) => Ok(()),
    };
}

fn pages(out: &mut String, measured: &Measured) {
    out.push_str("\n## The Calls page\n\n");
    let steps = match &measured.pages {
        Ok(steps) => steps,
        Err(why) => {
            let _ = writeln!(out, "Left out: {why}.");
            return;
        }
    };
    let rounds = steps.first().map_or(0, |step| step.rounds_ms.len());
    let _ = writeln!(
        out,
        "Headless Chromium on the same machine, {rounds} rounds, each in a fresh browser context with nothing kept; \
         all days. Milliseconds from the navigation, the key or the scrolling until the rows are on the screen and \
         nothing that belongs to them is loading. In the *first* round nothing of the kind has been asked of the store \
         before, and what it takes may have to come from the disk; median and slowest are those of the other rounds, \
         and the budget is for them.\n"
    );
    out.push_str("| step | first | median | slowest | budget |\n|---|---:|---:|---:|---:|\n");
    for step in steps {
        let met = if step.is_well() { "met" } else { "**missed**" };
        let _ = writeln!(
            out,
            "| {} | {:.0} | {:.0} | {:.0} | {:.0}, {met} |",
            step.name.replace('|', "\\|"),
            step.first_ms(),
            step.median_ms(),
            step.most_ms(),
            step.budget_ms
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::load::Loaded;
    use super::super::pages::Step;
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_missed_and_what_is_left_out_is_told() {
        let loaded = Loaded { requests: 1000, rate: 2000.0, p50_ms: 1.0, p99_ms: 2.0, failed: 1 };
        let path = format!("/calls/{}/x", "0".repeat(36));
        let row = Row { name: NEWEST, path, octets: 99_000, loaded: loaded.clone(), cpu_seconds: 1.5 };
        let step = Step { name: "a filter".into(), budget_ms: 200.0, rounds_ms: vec![90.0, 100.0, 250.0, 150.0] };
        let made = json!({"calls": 10_000_000, "octets": 1 << 30});
        let peer = Ok(Loaded { rate: 20_000.0, ..loaded });
        let text = markdown(&Measured { made, rows: vec![row], peer, memory_kib: 2048, pages: Ok(vec![step]) });
        assert!(text.contains("| 100 newest calls **1 failed** | `/calls/ID/x` | 99,000 | 2,000 |"), "{text}");
        assert!(text.contains("| 1.50 | 1500 |") && text.contains("nginx answers 10.0 times"), "{text}");
        assert!(text.contains("| a filter | 90 | 150 | 250 | 200, **missed** |"), "{text}");
        let left_out = || Err("no reason".to_owned());
        let (peer, pages) = (left_out(), Err("no browser".to_owned()));
        let text = markdown(&Measured { made: json!({}), rows: vec![], peer, memory_kib: 0, pages });
        assert!(text.contains("left out, no reason.") && text.contains("Left out: no browser."), "{text}");
    }
}
