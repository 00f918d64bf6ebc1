//! bench/charge.md.

use super::super::table::grouped;
use super::{ACCOUNTS, Loaded, Measured, SECONDS};
use std::fmt::Write as _;

/// The document without its head.
pub fn markdown(measured: &Measured) -> String {
    let mut out = format!(
        "\n`trunkline charge serve --threads 1` with all its threads on processor 0, its ledger on disk; \
         `trunkline charge load` on processor 1. {} prepaid subscribers, sessions of ten requests with one rating \
         group, {SECONDS} s each. Each answer is durable (fdatasync) before it leaves. Latency counts from when a \
         request was due. *CPU* is processor time of the node by request. The same disk makes {} small writes a \
         second durable, one after the other.\n\n\
         | load | requests/s | p50 µs | p99 µs | p99.9 µs | longest µs | CPU µs | failed |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n",
        grouped(ACCOUNTS),
        grouped(measured.disk_rate as u64),
    );
    measured.rows.iter().for_each(|(shape, run)| line(&mut out, shape, run));
    let held = &measured.held;
    let each = (held.resident_octets - held.empty_octets) / held.sessions.max(1.0);
    let _ = writeln!(
        out,
        "\nWith {} sessions open the node has {:.0} MiB resident, {:.0} octets for each session (accounts left \
         out). Killed in the midst of it and started again on both processors, it answers after {:.1} s; its ledger \
         has {} entries. The audits of both ledgers find {} differences.",
        grouped(held.sessions as u64),
        held.resident_octets / f64::from(1 << 20),
        each,
        held.start_s,
        grouped(held.entries as u64),
        measured.differences,
    );
    out
}

fn line(out: &mut String, shape: &str, run: &Loaded) {
    let [p50, p99, p99_9, longest] = run.latency_us;
    let _ = writeln!(
        out,
        "| {shape} | {} | {p50:.0} | {p99:.0} | {p99_9:.0} | {longest:.0} | {:.2} | {} |",
        grouped(run.rate as u64),
        run.cpu_us,
        grouped(run.failed as u64),
    );
}

#[cfg(test)]
mod tests {
    use super::super::Held;
    use super::*;

    #[test]
    fn everything_is_told_with_its_unit() {
        let run = Loaded { rate: 61_234.0, latency_us: [800.0, 1900.0, 3000.0, 9000.0], cpu_us: 12.345, failed: 2.0 };
        let held = Held {
            sessions: 1_000_000.0,
            resident_octets: f64::from(1 << 30),
            empty_octets: f64::from(1 << 20),
            entries: 3_000_000.0,
            start_s: 2.5,
            differences: 0,
        };
        let measured = Measured { rows: vec![("as many", run)], held, disk_rate: 4321.0, differences: 0 };
        let text = markdown(&measured);
        assert!(text.contains("| as many | 61,234 | 800 | 1900 | 3000 | 9000 | 12.35 | 2 |"), "{text}");
        assert!(text.contains("makes 4,321 small writes") && text.contains("1073 octets for each session"), "{text}");
        assert!(text.contains("answers after 2.5 s; its ledger has 3,000,000 entries") && !measured.is_well());
    }
}
