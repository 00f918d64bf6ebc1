//! bench/graph.md.

use super::super::example::number;
use super::super::table::grouped;
use super::cycle::{self, Cycle};
use super::dead::{self, Both};
use super::pages::Pages;
use super::peers::{self, Done, Peers};
use super::process::Disk;
use super::rate::{self, Made, Rate};
use super::{Measured, Size};
use std::fmt::Write as _;

const MIB: f64 = 1_048_576.0;

/// The document without its head.
pub fn markdown(measured: &Measured) -> String {
    let mut out = String::new();
    let Measured { rate, peers, dead, pages, cycle } = measured;
    rate.iter().for_each(|rate| polled(&mut out, rate));
    peers.iter().for_each(|peers| beside(&mut out, peers, rate.as_ref()));
    dead.iter().for_each(|both| dead_ones(&mut out, both));
    pages.iter().for_each(|pages| asked(&mut out, pages));
    cycle.iter().for_each(|cycle| million(&mut out, cycle));
    out
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "**missed**" }
}

fn sizes(size: Option<Size>) -> String {
    size.map_or(String::new(), |size| {
        format!("{} devices with {} interfaces each", grouped(size.devices as u64), size.interfaces)
    })
}

fn polled(out: &mut String, rate: &Rate) {
    let _ = writeln!(
        out,
        "\n## Polled and stored by one processor\n\n`trunkline graph serve --lanes 1` with all its threads on \
         processor 0, `trunkline graph farm --sound` on processor 1. {}, ifHCInOctets and ifHCOutOctets of each \
         every {} s; data and graph templates are those that come with the program. Measured for {:.0} s, in which \
         each file is written twice (30 samples together), after each had been written before and nothing waited.\n",
        sizes(rate.size),
        rate::STEP_S,
        rate.seconds,
    );
    out.push_str("| | a second | in all |\n|---|---:|---:|\n");
    for (what, all) in [
        ("values polled", rate.polled),
        ("values stored: in the journal, then in files", rate.stored),
        ("files written", rate.files),
    ] {
        let _ = writeln!(out, "| {what} | {} | {} |", grouped((all / rate.seconds) as u64), grouped(all as u64));
    }
    disk(out, rate.disk, rate.seconds);
    let [ours, farm] = rate.cpu_s.map(|cpu| cpu * 100.0 / rate.seconds);
    let _ = writeln!(
        out,
        "\nProcessor time of the program: {:.1} s, {ours:.0} % of its processor ({} values polled and stored for each \
         second); of the devices: {farm:.0} % of theirs. Cycles missed or cut, readings unknown, samples dropped: \
         {}. The journal was {:.1} MiB ahead of the files before and {:.1} MiB after. The program has {:.0} MiB \
         resident. From the first device that was added to the last of {} files that was made: {}.\n\n\
         Budget: {} values a second polled and stored on one processor ({}).",
        rate.cpu_s[0],
        grouped((rate.polled / rate.cpu_s[0].max(0.01)) as u64),
        grouped(rate.lost as u64),
        rate.behind[0] / MIB,
        rate.behind[1] / MIB,
        rate.resident / MIB,
        grouped(rate.size.map_or(0.0, Size::interfaces_all) as u64),
        taken(&rate.made),
        grouped(rate::BUDGET as u64),
        verdict(rate.is_well()),
    );
}

/// `214 s, 90.0 s of them of the processor; the disk wrote 4,000 MiB with 500,000 flushes and was busy for 12 s`.
fn taken(made: &Made) -> String {
    let disk = made.disk.map_or(String::new(), |disk| {
        format!(
            "; the disk wrote {} MiB with {} flushes and was busy for {:.0} s",
            grouped((disk.octets / MIB) as u64),
            grouped(disk.flushes as u64),
            disk.busy_s
        )
    });
    format!("{:.0} s, with {:.1} s of processors{disk}", made.seconds, made.cpu_s)
}

fn disk(out: &mut String, disk: Option<Disk>, seconds: f64) {
    let Some(disk) = disk else { return };
    for (what, all) in [
        ("KiB that the disk wrote", disk.octets / 1024.0),
        ("writes of the disk", disk.writes),
        ("flushes of the disk", disk.flushes),
    ] {
        let _ = writeln!(out, "| {what} | {} | {} |", grouped((all / seconds) as u64), grouped(all as u64));
    }
    let _ = writeln!(out, "| seconds in which the disk was busy | {:.2} | {:.0} |", disk.busy_s / seconds, disk.busy_s);
}

fn beside(out: &mut String, peers: &Peers, ours: Option<&Rate>) {
    out.push_str(
        "\n## Beside others\n\nEach on processor 0, what is polled on processor 1. Values a second are those of the \
         time that passed; a processor second is one of all its processes, MariaDB's for spine.\n\n\
         | what | values | values/s | values for each processor second | trunkline is |\n|---|---:|---:|---:|---:|\n",
    );
    let mut row = |name: &str, done: &Done, ours: Option<f64>| {
        let (rate, each) = (done.values / done.seconds.max(0.01), done.values / done.cpu_s.max(0.01));
        let ratio = ours.map_or(String::new(), |ours| format!("{:.1} times as fast", ours / each.max(1.0)));
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} | {ratio} |",
            grouped(done.values as u64),
            grouped(rate as u64),
            grouped(each as u64)
        );
    };
    if let Some(rate) = ours {
        let done = Done { values: rate.polled, seconds: rate.seconds, cpu_s: rate.cpu_s[0] };
        row("trunkline: polled, journal, files (as above)", &done, None);
    }
    let each = ours.map(|rate| rate.polled / rate.cpu_s[0].max(0.01));
    if let Ok(done) = &peers.spine {
        row(&format!("spine, {} threads: polled, to MariaDB; no files", peers::THREADS), done, each);
    }
    if let Ok([theirs, ours]) = &peers.storing {
        let each = ours.values / ours.cpu_s.max(0.01);
        row("trunkline's writer: to files of 94.8 kB, synced", ours, None);
        row("rrdcached: to the same files, nothing synced", theirs, Some(each));
    }
    for why in [peers.spine.as_ref().err(), peers.storing.as_ref().err()].into_iter().flatten() {
        let _ = writeln!(out, "\nNot measured: {why}");
    }
}

fn dead_ones(out: &mut String, both: &Both) {
    let _ = writeln!(
        out,
        "\n## Dead devices\n\nTwo counters of each interface every {} s, without storing, on processor 0 \
         (`crates/graph/examples/cycle.rs`). A cycle lasts from when its first device was due until the last live one \
         has answered; devices are due all over the step. A device is late by what its last answer comes after it was \
         due.\n\n| devices | dead | cycles | live devices left out | cycle s | longest s | late ms, middle | 99 % | \
         longest |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        dead::STEP_S,
    );
    for told in &both.told {
        let at = |name: &str| number(told, name);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {:.4} | {:.4} | {:.2} | {:.2} | {:.2} |",
            grouped(at("devices") as u64),
            grouped(at("dead") as u64),
            at("cycles"),
            at("missing"),
            at("cycle_s"),
            at("cycle_longest_s"),
            at("late_p50_ms"),
            at("late_p99_ms"),
            at("late_longest_ms"),
        );
    }
    let _ = writeln!(
        out,
        "\nWith {} % of the devices dead a cycle is {:.2} % longer. Budget: less than {:.0} % ({}).",
        dead::DEAD_PERMILLE / 10,
        both.longer_percent(),
        dead::BUDGET_PERCENT,
        verdict(both.is_well()),
    );
}

fn asked(out: &mut String, pages: &Pages) {
    let _ = writeln!(
        out,
        "\n## Pages\n\n{} graphs in the inventory, all of them polled every minute; those of the previews are of files \
         of {} kB with a sample of each minute of five years. Asked over the API of `trunkline web`, which asks \
         `trunkline graph serve`, both on both processors, by wrk with one connection for 5 s.\n\n\
         | asked | octets | answers/s | p50 ms | p99 ms | budget ms | |\n|---|---:|---:|---:|---:|---:|---|",
        grouped(pages.graphs as u64),
        grouped((pages.file_octets / 1e3) as u64),
    );
    for row in &pages.rows {
        let is_met = row.loaded.p99_ms < row.budget_ms && row.loaded.failed == 0;
        let _ = writeln!(
            out,
            "| {} | {} | {:.0} | {:.2} | {:.2} | {:.0} | {} |",
            row.name,
            grouped(row.octets as u64),
            row.loaded.rate,
            row.loaded.p50_ms,
            row.loaded.p99_ms,
            row.budget_ms,
            verdict(is_met),
        );
    }
}

fn million(out: &mut String, all: &Cycle) {
    let run = &all.cycle;
    let interfaces = all.size.map_or(0.0, Size::interfaces_all);
    let _ = writeln!(
        out,
        "\n## A million interfaces\n\n{}: {} interfaces and as many files, every {} s, on two processors with the \
         devices beside it on the same two (`--lanes 2`). Files have a short profile, {:.1} kB each: six hours of five \
         minutes, two days of hours; the profile that comes with the program would take 760 GB. `write-age` is five \
         minutes, so that each file is written in each cycle: six times as often as by default. Measured for {:.0} \
         s.\n\n| | a second | in all |\n|---|---:|---:|",
        sizes(all.size),
        grouped(interfaces as u64),
        cycle::STEP_S,
        all.file_octets / 1e3,
        run.seconds,
    );
    for (what, sum) in
        [("values polled", run.polled), ("values stored in files", run.stored), ("files written", run.files)]
    {
        let _ = writeln!(out, "| {what} | {} | {} |", grouped((sum / run.seconds) as u64), grouped(sum as u64));
    }
    disk(out, run.disk, run.seconds);
    let [ours, farm] = run.cpu_s.map(|cpu| cpu * 50.0 / run.seconds);
    let each = |octets: f64| octets / interfaces.max(1.0);
    let _ = writeln!(
        out,
        "\nThe program takes {ours:.1} % of the two processors, the devices {farm:.1} %. Cycles missed or cut, \
         readings unknown, samples dropped: {}. The journal was {:.1} MiB ahead of the files at the end. \
         Does a cycle end in its five minutes, with nothing lost: {}.\n\n\
         All devices are added after {}. All files are made after {}. Resident: {:.0} MiB with all of it, {:.0} \
         octets for each interface ({:.0} MiB without any); after a start {:.0} MiB, {:.0} octets. Killed and started \
         again it answers after {:.1} s, and all devices are polled after {:.1} s.",
        grouped(run.lost as u64),
        run.behind[1] / MIB,
        verdict(all.is_well()),
        taken(&all.added),
        taken(&all.made),
        run.resident / MIB,
        each(run.resident - all.empty),
        all.empty / MIB,
        all.resident_again / MIB,
        each(all.resident_again - all.empty),
        all.start_s[0],
        all.start_s[1],
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn everything_is_told_with_its_unit() {
        let size = Some(Size { devices: 10_000, interfaces: 50, dead_permille: 0 });
        let rate = Rate {
            size,
            seconds: 90.0,
            polled: 30_000_000.0,
            stored: 30_000_000.0,
            cpu_s: [60.0, 30.0],
            made: Made { seconds: 72.0, cpu_s: 60.0, disk: Some(Disk { busy_s: 5.0, ..Disk::default() }) },
            disk: Some(Disk { busy_s: 9.0, ..Disk::default() }),
            ..Rate::default()
        };
        let spine = Ok(Done { values: 100_000.0, seconds: 4.0, cpu_s: 2.5 });
        let told = |cycle_s: f64| json!({ "cycles": 9, "missing": 0, "cycle_s": cycle_s, "devices": 10_000 });
        let cycle = Cycle { size, cycle: Rate { lost: 1.0, ..rate.clone() }, ..Cycle::default() };
        let measured = Measured {
            peers: Some(Peers { spine, storing: Err("apt-get install rrdcached".to_owned()) }),
            dead: Some(Both { told: [told(2.0), told(2.2)] }),
            pages: Some(Pages::default()),
            cycle: Some(cycle),
            rate: Some(rate),
        };
        let text = markdown(&measured);
        for expected in [
            "| values polled | 333,333 | 30,000,000 |",
            "on one processor (met)",
            "67 % of its processor (500,000 values",
            "made: 72 s, with 60.0 s of processors; the disk wrote 0 MiB with 0 flushes and was busy for 5 s.",
            "| spine, 10 threads: polled, to MariaDB; no files | 100,000 | 25,000 | 40,000 | 12.5 times as fast |",
            "Not measured: apt-get install rrdcached",
            "dead a cycle is 10.00 % longer. Budget: less than 5 % (**missed**)",
            "with nothing lost: **missed**",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        assert!(!measured.is_well());
    }
}
