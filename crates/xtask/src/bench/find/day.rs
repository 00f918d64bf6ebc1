//! A day's packet log: some minutes of a thousand calls, recorded by the program, the rest filled with sparse files.

use super::Question;
use crate::bench::Bench;
use crate::bench::example::{self, number};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The first minute of the day, since 1970: 2026-01-01T00:00Z.
const FIRST_MINUTE: u64 = 29_453_760;
const MINUTES: u64 = 1440;
/// The minute at which the calls begin: noon.
const BUSY_MINUTE: u64 = 720;
/// Calls in all; a thousand are up at once, for a minute each.
const CALLS: u64 = 3000;
/// The last of so many calls, the oldest first, is the one that is looked for: it begins in the busiest minute.
const CALL: &str = "1500";
/// The day, as it is asked for.
const DAY: [&str; 4] = ["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-01T23:59:59Z"];
/// A host and a port that the filled minutes have only in one of them (crates/record/examples/sparse_log.rs).
const RARE: (&str, &str) = ("10.2.73.247", "20014");

/// The log.
pub struct Day {
    /// Its data folder.
    pub data: PathBuf,
    /// What the disk holds of it, octets: the rest are holes.
    pub disk_octets: u64,
    /// The segments of the minutes of calls.
    pub busy: Vec<Segment>,
    /// All segments.
    pub all: Vec<Segment>,
}

/// A segment, as `trunkline packets ls` tells.
pub struct Segment {
    path: PathBuf,
    first: String,
    last: String,
    /// Packets in it.
    pub packets: f64,
    /// Its octets.
    pub octets: f64,
    /// Those of its index.
    pub index_octets: f64,
}

/// Makes it, as large as it says.
///
/// # Errors
/// A program failed.
pub fn make(bench: &Bench<'_>, gib: u64) -> Result<Day, String> {
    let data = bench.folder.join("data");
    record(bench, &data)?;
    let busy = segments(bench, &data)?;
    eprintln!("bench: filling the day up to {gib} GiB");
    let program = example::build(bench, "trunkline-record", "sparse_log")?;
    let numbers = [FIRST_MINUTE, MINUTES, gib].map(|n| n.to_string());
    let words: Vec<_> = std::iter::once(data.as_os_str()).chain(numbers.iter().map(AsRef::as_ref)).collect();
    eprintln!("bench: {}", example::run(&program, &words)?);
    Ok(Day { disk_octets: disk_octets(&data), all: segments(bench, &data)?, busy, data })
}

/// The minutes of calls, as the program records them.
fn record(bench: &Bench<'_>, data: &Path) -> Result<(), String> {
    let calls = if bench.quick { CALLS / 10 } else { CALLS };
    eprintln!("bench: recording {calls} calls");
    let start = format!("start_ns={}", (FIRST_MINUTE + BUSY_MINUTE) * 60_000_000_000);
    let failed = |e: std::io::Error| format!("trunkline sim: {e}");
    let mut world = Command::new(&bench.program)
        .args(["sim", "--preset", "busy", "--calls", &calls.to_string(), "--set", &start, "-w", "-"])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let packets = world.stdout.take().ok_or("no output")?;
    let status = Command::new(&bench.program)
        .args(["read", "-", "--record", "--data"])
        .arg(data)
        .stdin(packets)
        .stdout(Stdio::null())
        .status()
        .map_err(|e| format!("trunkline read: {e}"))?;
    let made = world.wait().map_err(failed)?;
    if made.success() && status.success() { Ok(()) } else { Err(format!("sim: {made}; read --record: {status}")) }
}

fn segments(bench: &Bench<'_>, data: &Path) -> Result<Vec<Segment>, String> {
    let lines = lines(bench, &["packets", "ls", "--json", "--limit", "1000000"], data)?;
    let text = |line: &Value, name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let segment = |line: &Value| Segment {
        path: text(line, "path").into(),
        first: text(line, "first"),
        last: text(line, "last"),
        packets: number(line, "packets"),
        octets: number(line, "octets"),
        index_octets: number(line, "index_octets"),
    };
    Ok(lines.iter().map(segment).collect())
}

/// What a command of ours prints, an object a line.
fn lines(bench: &Bench<'_>, words: &[&str], data: &Path) -> Result<Vec<Value>, String> {
    let output = Command::new(&bench.program).args(words).arg("--data").arg(data).output();
    let output = output.map_err(|e| format!("trunkline {}: {e}", words[0]))?;
    if !output.status.success() {
        return Err(format!("trunkline {}: {}", words[0], String::from_utf8_lossy(&output.stderr).trim()));
    }
    let lines = output.stdout.split(|&o| o == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).map_err(|e| format!("trunkline {}: {e}", words[0]))).collect()
}

fn disk_octets(data: &Path) -> u64 {
    let output = Command::new("du").args(["-s", "-B1"]).arg(data).output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    text.split('\t').next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// What is asked of it.
///
/// # Errors
/// There is no call in it.
pub fn questions(bench: &Bench<'_>, day: &Day) -> Result<Vec<Question>, String> {
    let words = ["calls", "--json", "--limit", CALL, "--sort", "oldest", "state:completed"];
    let calls = lines(bench, &words, &day.data)?;
    let call = calls.last().ok_or("there is no call in the log")?;
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (id, start, end) = (text(call, "id"), text(call, "start"), text(call, "end"));
    let streams = call.get("streams").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let ends: Vec<String> = streams.iter().map(|s| text(s, "src")).collect();
    let meets = |s: &&Segment| s.first <= end && s.last >= start;
    let paths = |segments: &[Segment]| segments.iter().map(|s| s.path.clone()).collect::<Vec<_>>();
    let of_call = day.busy.iter().filter(meets).map(|s| s.path.clone()).collect();
    let expressions: Vec<String> = ends.iter().filter_map(|end| host_and_port(end)).collect();
    let busy = expressions.first().cloned().ok_or("the call has no stream")?;
    let rare = format!("host {} and port {}", RARE.0, RARE.1);
    let in_day = |what: &'static str, expression: String, files: &[PathBuf]| Question {
        what,
        ours: DAY.iter().map(ToString::to_string).chain([expression.clone()]).collect(),
        theirs: expression,
        files: files.to_vec(),
        budget_ms: 1000.0,
    };
    let of_call = Question {
        what: "a call out of a thousand at once",
        ours: vec!["--call".to_owned(), id],
        theirs: expressions.iter().map(|e| format!("({e})")).collect::<Vec<_>>().join(" or "),
        files: of_call,
        budget_ms: 200.0,
    };
    let rare = in_day("a host and port in a day, in one minute of it", rare, &paths(&day.all));
    Ok(vec![of_call, rare, in_day("a host and port in a day, in the busy minutes", busy, &[])])
}

/// `192.0.2.1:5060` as an expression.
fn host_and_port(end: &str) -> Option<String> {
    let (host, port) = end.rsplit_once(':')?;
    Some(format!("host {} and port {port}", host.trim_matches(['[', ']'])))
}

#[cfg(test)]
mod tests {
    use super::host_and_port;

    #[test]
    fn an_end_becomes_an_expression() {
        assert_eq!(host_and_port("192.0.2.1:4000").as_deref(), Some("host 192.0.2.1 and port 4000"));
        assert_eq!(host_and_port("[2001:db8::1]:4000").as_deref(), Some("host 2001:db8::1 and port 4000"));
    }
}
