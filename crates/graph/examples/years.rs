//! Makes round-robin files with five years in them: `years FILE...`.
//!
//! The files are those of an interface's traffic, by the built-in templates. The first one is read each minute of five
//! years until now; the others become what it is then, so that all have rows in each of their archives.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};
use trunkline_rrd::{Plan, RrdFile, Time, Value};

const YEARS_S: i64 = 5 * 365 * 86_400;
const STEP_S: i64 = 60;
/// Samples of one update of the file.
const TOGETHER: usize = 10_000;
/// `interface-traffic` with the profile `minute`.
const DEFINITION: [&str; 12] = [
    "DS:traffic_in:COUNTER:120:0:U",
    "DS:traffic_out:COUNTER:120:0:U",
    "RRA:AVERAGE:0.5:1m:2d",
    "RRA:AVERAGE:0.5:5m:2w",
    "RRA:AVERAGE:0.5:30m:90d",
    "RRA:AVERAGE:0.5:2h:730d",
    "RRA:AVERAGE:0.5:1d:3650d",
    "RRA:MAX:0.5:1m:2d",
    "RRA:MAX:0.5:5m:2w",
    "RRA:MAX:0.5:30m:90d",
    "RRA:MAX:0.5:2h:730d",
    "RRA:MAX:0.5:1d:3650d",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let Some((first, others)) = files.split_first() else { return Err("usage: years FILE...".into()) };
    let end_s = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() as i64 / STEP_S * STEP_S;
    let start_s = end_s - YEARS_S;
    RrdFile::create(first, &Plan::read(STEP_S as u64, DEFINITION)?.create(start_s, |_| 0)?)?;
    let mut file = RrdFile::open_to_update(first)?;
    let mut octets = 0_u64;
    let mut samples: Vec<(Time, [Value<'_>; 2])> = Vec::with_capacity(TOGETHER);
    for minute in 1..=YEARS_S / STEP_S {
        let at_s = start_s + minute * STEP_S;
        let wave = 1.3 + (at_s as f64 / 86_400.0 * std::f64::consts::TAU).sin();
        octets += (wave * 3e7) as u64 + (minute as u64 * 7919) % 4_000_000;
        samples.push((Time::at(at_s), [Value::Unsigned(octets), Value::Unsigned(octets / 3)]));
        if samples.len() == TOGETHER || at_s == end_s {
            let mut refused = 0;
            file.update(samples.iter().map(|(at, values)| (*at, &values[..])), |_, _| refused += 1)?;
            assert_eq!(refused, 0, "samples come in order");
            samples.clear();
        }
    }
    drop(file);
    for other in others {
        std::fs::copy(first, other)?;
    }
    println!("{}", serde_json::json!({ "files": files.len(), "octets": std::fs::metadata(first)?.len() }));
    Ok(())
}
