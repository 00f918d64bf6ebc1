//! bench/route.md.

use super::super::cache::load::{CONNECTIONS, Loaded};
use super::super::table::grouped;
use super::{BEHIND, KEYS, Measured, Row, VALUE_OCTETS, Way};
use std::fmt::Write as _;

/// The document without its head.
pub fn markdown(measured: &Measured) -> String {
    let (rounds, seconds) = measured.rounds;
    let mut out = format!(
        "\n`trunkline cache route -t 1` and twemproxy in front of the same {BEHIND} memcacheds (`-t 1`), and one \
         memcached that is asked straight. Who is asked has processor 0; the load and the memcacheds behind the \
         proxies share processor 1. {CONNECTIONS} connections in closed loop, {} keys of 32 octets with values of \
         {VALUE_OCTETS}, nine gets to a set, each in turn {rounds} times, {seconds} s each, the medians. *CPU* is \
         processor time by request of the one that is asked: what stands behind a proxy is not in it. *Busy* is how \
         much of the time processor 0 was: where it was not, what is on processor 1 was the limit.\n\n\
         | requests | asked | requests/s | of straight | p50 µs | p99 µs | p99.9 µs | CPU µs | busy % | hits % |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        grouped(KEYS.parse().unwrap_or(0)),
    );
    measured.rows.iter().for_each(|row| lines(&mut out, row));
    if measured.rows.iter().any(|row| row.of(Way::Theirs).is_none()) {
        out.push_str("\ntwemproxy is not installed: apt-get install nutcracker.\n");
    }
    out
}

fn lines(out: &mut String, row: &Row) {
    let straight = row.of(Way::Straight).map_or(0.0, |run| run.rate).max(1e-9);
    for (way, run) in &row.runs {
        let [p50, p99, p99_9, ..] = run.latency_us;
        let _ = writeln!(
            out,
            "| {} | {}{} | {} | {:.2} | {p50:.0} | {p99:.0} | {p99_9:.0} | {:.2} | {:.0} | {:.1} |",
            row.shape,
            name(*way),
            failed(run),
            grouped(run.rate as u64),
            run.rate / straight,
            run.cpu_us,
            run.busy * 100.0,
            run.hits * 100.0,
        );
    }
}

fn name(way: Way) -> &'static str {
    match way {
        Way::Straight => "memcached, straight",
        Way::Ours => "trunkline cache route",
        Way::Theirs => "twemproxy",
    }
}

fn failed(run: &Loaded) -> String {
    if run.failed > 0.0 { format!("; {} failed", run.failed) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_compared_with_what_is_asked_straight() {
        let run = |rate, failed| Loaded { rate, failed, cpu_us: 4.25, busy: 0.5, hits: 1.0, ..Loaded::default() };
        let runs = vec![(Way::Straight, run(200_000.0, 0.0)), (Way::Ours, run(100_000.0, 3.0))];
        let mut measured = Measured { rounds: (3, 3), rows: vec![Row { shape: "1 in flight", runs }] };
        let text = markdown(&measured);
        assert!(text.contains("| 1 in flight | memcached, straight | 200,000 | 1.00 | 0 | 0 | 0 | 4.25 |"), "{text}");
        assert!(text.contains("| trunkline cache route; 3 failed | 100,000 | 0.50 |"), "{text}");
        assert!(text.contains("apt-get install nutcracker") && !measured.is_well());
        measured.rows[0].runs.push((Way::Theirs, run(50_000.0, 9.0)));
        measured.rows[0].runs[1].1.failed = 0.0;
        assert!(!markdown(&measured).contains("apt-get") && measured.is_well());
    }
}
