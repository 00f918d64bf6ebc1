//! The clock is set back between two runs: what the second one captures lies before what the first one has.

use super::*;

const HOURS_2: i64 = 2 * 3_600_000_000_000;

/// A call that goes on over it has a row for each half, as reading the log by its times gives: the second one is not
/// left out, and is told.
#[test]
fn second_halves_of_an_earlier_time_keep_their_rows() {
    let Some(wire) = Wire::lay("set-back") else { return };
    let short = ["--set", "duration.min_s=15", "--set", "duration.mean_s=18", "--set", "duration.max_s=22"];
    let world = wire.world("world.pcap", &[&["--calls", "12", "--rate", "3", "--seed", "5"], &short[..]].concat());
    let (config, first, data) = (config(&wire, ""), wire.path("first"), wire.path("data"));
    let running = wire.run("first", &config);
    let mut sends = replay(&wire, &world, "1x");
    wire.until("calls are up", |w| w.metric("trunkline_calls_open_calls") >= 10.0);
    kill(running);
    // The same log and checkpoint, of two hours later.
    let capture = wire.path("later.pcap");
    shifted(&[log_files(&first, "pcapng"), log_files(&first, "part")].concat(), &capture, HOURS_2, i64::MAX);
    trunkline(&["read", "--record", "--data", text(&data), text(&capture)]);
    for word in ["at", "from"] {
        let changed = altered(&first, word, HOURS_2);
        std::fs::write(first.join("spool/calls.checkpoint"), changed).unwrap();
    }
    std::fs::create_dir_all(data.join("spool")).unwrap();
    std::fs::copy(first.join("spool/calls.checkpoint"), data.join("spool/calls.checkpoint")).unwrap();
    let running = wire.run("data", &config);
    until_read(&wire);
    sends.wait().unwrap();
    wire.until("second halves have rows", |w| w.metric("trunkline_recovery_apart_calls_total") >= 3.0);
    assert_eq!(wire.metric("trunkline_recovery_clock_set_back_total"), 1.0);
    let (code, said) = running.end();
    assert_eq!(code, 0, "{said:#?}");
    assert!(
        said.iter().any(|line| line.contains("WARN") && line.contains("the clock was set back by 1:")),
        "{said:#?}"
    );
    same_calls(&data);
    let rows = stored(&data);
    let halves: Vec<_> = rows.values().filter(|rows| rows.len() == 2).flatten().collect();
    let told = |call: &&&Value| call["capture"]["note"].as_str().is_some_and(|note| note.contains("is another row"));
    assert!(halves.len() >= 6, "{rows:#?}");
    assert_eq!(halves.iter().filter(told).count(), halves.len() / 2);
    // Nor does the next start take them away, or make more of them.
    let running = wire.run("data", &config);
    until_read(&wire);
    running.end();
    same_calls(&data);
}
