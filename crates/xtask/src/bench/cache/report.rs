//! bench/cache.md.

use super::super::example::number;
use super::super::table::grouped;
use super::Measured;
use super::load::{CONNECTIONS, Loaded};
use super::memory::Memory;
use super::pass::{BUDGET, BUSY, KEYS, Pass, Row, Verdict};
use super::reclaim::{RATE, Sets};
use super::server::Who;
use std::fmt::Write as _;

/// The document without its head.
pub fn markdown(measured: &Measured) -> String {
    let (rounds, seconds) = measured.rounds;
    let mut out = format!(
        "- TCP's congestion control is {}\n\n`trunkline cache` and memcached with the same options, `trunkline cache \
         load` in front of them: {CONNECTIONS} connections in closed loop, {} keys of 32 octets, ours and memcached in \
         turn {rounds} times, {seconds} s each, the medians. Where two figures stand in a cell, the first is ours. \
         *CPU* is processor time of the server's process by request. *Busy* is how much of the time the server's \
         processor was: below {:.0} % the load was the limit, not the server, and the ratio of processor time says \
         what that of requests cannot. The budget is {BUDGET} times memcached's requests a second.\n",
        measured.congestion,
        grouped(KEYS.parse().unwrap_or(0)),
        BUSY * 100.0,
    );
    measured.passes.iter().for_each(|(pass, rows)| table(&mut out, pass, rows));
    memory(&mut out, &measured.memory);
    hits(&mut out, measured);
    sets(&mut out, &measured.sets);
    out
}

fn table(out: &mut String, pass: &Pass, rows: &[Row]) {
    let _ = writeln!(out, "\n## {}\n", pass.title);
    out.push_str(
        "| requests | value | gets:sets | requests/s | memcached | ratio | p50 µs | p99 µs | p99.9 µs | CPU µs | ratio \
         | busy % | hits % | budget |\n",
    );
    out.push_str("|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|\n");
    for row in rows {
        let (ours, theirs) = (&row.ours, &row.theirs);
        let [p50, p99, p99_9, ..] = std::array::from_fn::<_, 5, _>(|at| pair(row, |run| run.latency_us[at], 0));
        let _ = writeln!(
            out,
            "| {}{} | {} | {} | {} | {} | **{:.2}** | {p50} | {p99} | {p99_9} | {} | {:.2} | {} | {} | {} |",
            row.shape.name,
            failed(row),
            row.octets,
            row.mix,
            grouped(ours.rate as u64),
            grouped(theirs.rate as u64),
            row.by_rate(),
            pair(row, |run| run.cpu_us, 2),
            row.by_cpu(),
            pair(row, |run| run.busy * 100.0, 0),
            pair(row, |run| run.hits * 100.0, 1),
            verdict(row.verdict()),
        );
    }
}

fn pair(row: &Row, value: impl Fn(&Loaded) -> f64, digits: usize) -> String {
    format!("{:.digits$} / {:.digits$}", value(&row.ours), value(&row.theirs))
}

fn failed(row: &Row) -> String {
    let of = |name: &str, failed: f64| if failed > 0.0 { format!("; {name} failed {failed}") } else { String::new() };
    of("ours", row.ours.failed) + &of("memcached's", row.theirs.failed)
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Met => "met",
        Verdict::LoadIsTheLimit(true) => "load is the limit; met by CPU",
        Verdict::LoadIsTheLimit(false) => "load is the limit; **missed** by CPU",
        Verdict::Missed => "**missed**",
    }
}

/// A figure of a server's memory.
type Of = fn(&Memory) -> f64;

fn memory(out: &mut String, both: &[Memory]) {
    let [ours, theirs] = both else { return };
    let _ = writeln!(
        out,
        "\n## Memory\n\n{} items of 32 + 100 octets, and {} connections that are idle; octets of each, of an item beyond \
         its key and value. *Resident* is what the system counts for the process, the kernel's sockets not among it; \
         *told* is the server's own account of items and table. *Quiet again*: each has asked about three times.\n",
        grouped(ours.items as u64),
        grouped(ours.connections as u64),
    );
    out.push_str("| octets | ours | memcached | |\n|---|---:|---:|---|\n");
    let rows: [(&str, Of); 4] = [
        ("an item, resident", |memory| memory.item_resident),
        ("an item, told", |memory| memory.item_told),
        ("a connection, resident, that has asked nothing", |memory| memory.connection_opened),
        ("a connection, resident, that is quiet again", |memory| memory.connection_asked),
    ];
    for (name, value) in rows {
        let (ours, theirs) = (value(ours), value(theirs));
        let met = if ours < theirs { "less" } else { "**not less**" };
        let _ = writeln!(out, "| {name} | {ours:.1} | {theirs:.1} | {met} |");
    }
}

fn hits(out: &mut String, measured: &Measured) {
    let told = &measured.hits;
    let _ = writeln!(
        out,
        "\n## Hits\n\n{} requests among {} keys by Zipf's law, {} MiB of memory, what is missed is stored; percent of \
         the second half. With scans, a third of the requests ask for keys that nobody asks for again. The store is \
         asked directly, memcached through its socket; the LRU is exact, and has as many items as the store.\n",
        grouped(number(told, "requests") as u64),
        grouped(number(told, "keys") as u64),
        number(told, "mebibytes"),
    );
    out.push_str("| trace | ours | memcached | LRU |\n|---|---:|---:|---:|\n");
    for row in told["rows"].as_array().into_iter().flatten() {
        let scans = if row["scans"].as_bool() == Some(true) { ", scans" } else { "" };
        let theirs = row["memcached"].as_f64().map_or("not there".to_owned(), |hits| format!("{hits:.2}"));
        let (store, lru) = (number(row, "store"), number(row, "lru"));
        let _ = writeln!(out, "| Zipf {:.1}{scans} | {store:.2} | {theirs} | {lru:.2} |", number(row, "zipf"));
    }
}

fn sets(out: &mut String, all: &[Sets]) {
    let _ = writeln!(
        out,
        "\n## Sets on full memory\n\n{} sets a second of 32 + 100 octets by TCP in open loop, far below what either can \
         do: what waits, waits for the server, or for the machine. *Gone* is how many items had to go for a set; ours \
         takes back a segment at a time, memcached an item.\n",
        grouped(RATE.parse().unwrap_or(0)),
    );
    out.push_str("| | gone | p50 µs | p99 µs | p99.9 µs | p99.99 µs | longest µs | CPU µs |\n");
    out.push_str("|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for sets in all {
        let who = if sets.who == Who::Ours { "ours" } else { "memcached" };
        let room = if sets.full { "memory is full" } else { "there is room" };
        let latency = sets.loaded.latency_us.map(|us| format!("{us:.0}")).join(" | ");
        let _ = writeln!(out, "| {who}, {room} | {:.2} | {latency} | {:.2} |", sets.evictions, sets.loaded.cpu_us);
    }
}

#[cfg(test)]
mod tests {
    use super::super::pass::{PASSES, SHAPES};
    use super::*;
    use serde_json::json;

    fn row(rate: f64, busy: f64, failed: f64) -> Row {
        let theirs = Loaded { rate: 100_000.0, cpu_us: 6.0, busy: 0.99, hits: 1.0, ..Loaded::default() };
        let ours = Loaded { rate, busy, failed, cpu_us: 3.0, ..theirs.clone() };
        Row { shape: SHAPES[0], octets: "100", mix: "9:1", apart: true, ours, theirs }
    }

    #[test]
    fn the_document_says_what_was_met_and_what_was_not() {
        let memory = |item_resident| Memory {
            items: 1e6,
            item_resident,
            item_told: 25.0,
            connections: 1e4,
            connection_opened: 400.0,
            connection_asked: 500.0,
        };
        let sets = Sets { who: Who::Theirs, full: true, loaded: row(1.0, 1.0, 0.0).theirs, evictions: 0.97 };
        let hits = json!({
            "keys": 10, "requests": 1000, "mebibytes": 16,
            "rows": [{"zipf": 0.9, "scans": true, "store": 50.126, "lru": 48.0, "memcached": null}],
        });
        let rows = vec![row(160_000.0, 0.5, 0.0), row(120_000.0, 0.5, 0.0), row(120_000.0, 0.99, 7.0)];
        let memory = vec![memory(20.0), memory(68.0)];
        let passes = vec![(&PASSES[0], rows)];
        let (sets, congestion) = (vec![sets], "cubic".to_owned());
        let mut measured = Measured { rounds: (3, 3), passes, memory, sets, hits, congestion };
        let text = markdown(&measured);
        assert!(text.contains("| 160,000 | 100,000 | **1.60** |") && text.contains("| met |"), "{text}");
        assert!(text.contains("| 50 / 99 | 100.0 / 100.0 | load is the limit; met by CPU |"), "{text}");
        assert!(text.contains("| TCP, 1 in flight; ours failed 7 |") && text.contains("| **missed** |"), "{text}");
        assert!(text.contains("| an item, resident | 20.0 | 68.0 | less |"), "{text}");
        assert!(text.contains("quiet again | 500.0 | 500.0 | **not less** |"), "{text}");
        assert!(text.contains("| Zipf 0.9, scans | 50.13 | not there | 48.00 |"), "{text}");
        assert!(text.contains("| memcached, memory is full | 0.97 | 0 | 0 | 0 | 0 | 0 | 6.00 |"), "{text}");
        assert!(!measured.is_well());
        measured.passes[0].1.truncate(2);
        measured.memory[0].connection_asked = 100.0;
        assert!(measured.is_well());
    }
}
