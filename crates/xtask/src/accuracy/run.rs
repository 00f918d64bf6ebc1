//! Running our program over a capture and reading what it prints.

use super::figures::{Figures, Sip, Stream};
use crate::repository::{self, Repository};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The longest that a reference capture may take; the largest has some thousand packets.
const READ_MAX: Duration = Duration::from_secs(20);

/// How reading a capture went.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The figures; empty if it failed.
    pub figures: Figures,
    /// What must not be: a crash, a hang, an exit code other than 0 and 3, output that is not JSON.
    pub failure: Option<String>,
    /// The container's format as the program names it.
    pub format: String,
    /// The one line about what is broken in the file.
    pub error: Option<String>,
}

/// Builds the program as the tests do (same profile, same folder) and says where it lies; `TRUNKLINE` names another.
///
/// # Errors
/// It does not build.
pub fn build(repository: &Repository) -> Result<PathBuf, String> {
    if let Some(program) = std::env::var_os("TRUNKLINE") {
        return Ok(program.into());
    }
    let status = repository::cargo()
        .args(["build", "--quiet", "--locked", "--package", "trunkline", "--profile", "test"])
        .current_dir(repository.path(""))
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if !status.success() {
        return Err("trunkline does not build".to_owned());
    }
    // This program lies in the same folder of the same target directory.
    let here = std::env::current_exe().map_err(|e| e.to_string())?;
    let program = here.with_file_name("trunkline");
    if program.is_file() { Ok(program) } else { Err(format!("{} is not there", program.display())) }
}

/// Reads `file` with `program` into a fresh data folder, and takes its figures from the JSON.
pub fn read(program: &Path, file: &Path) -> Outcome {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("trunkline-accuracy-{}-{number}", std::process::id()));
    let outcome = run(program, file, &folder).unwrap_or_else(failed);
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

fn failed(failure: String) -> Outcome {
    Outcome { failure: Some(failure), ..Outcome::default() }
}

fn run(program: &Path, file: &Path, folder: &Path) -> Result<Outcome, String> {
    std::fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    let output = folder.join("output.json");
    let stdout = std::fs::File::create(&output).map_err(|e| e.to_string())?;
    let complaints = folder.join("complaints");
    let stderr = std::fs::File::create(&complaints).map_err(|e| e.to_string())?;
    let child = Command::new(program)
        .arg("read")
        .arg(file)
        .args(["--json", "--data"])
        .arg(folder.join("data"))
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
        .map_err(|e| e.to_string())?;
    let status = wait(child)?;
    if !matches!(status.code(), Some(0 | 3)) {
        let said = std::fs::read_to_string(&complaints).unwrap_or_default();
        return Err(format!("{status}: {}", said.lines().last().unwrap_or_default()));
    }
    let text = std::fs::read_to_string(&output).map_err(|e| format!("output: {e}"))?;
    parse(&text)
}

/// Waits for the end of `child`, for `READ_MAX` at most.
fn wait(mut child: Child) -> Result<ExitStatus, String> {
    let begin = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            return Ok(status);
        }
        if begin.elapsed() > READ_MAX {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("still running after {} s", READ_MAX.as_secs()));
        }
        #[expect(clippy::disallowed_methods, reason = "the standard library cannot wait for a child with a limit")]
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// The figures of the printed lines: a call each, and a summary at the end.
fn parse(text: &str) -> Result<Outcome, String> {
    let mut calls = Vec::new();
    let mut summary = None;
    for line in text.lines() {
        let value: Value = serde_json::from_str(line).map_err(|e| format!("not JSON: {e}"))?;
        match value.get("summary") {
            Some(found) => summary = Some(found.clone()),
            None => calls.push(value),
        }
    }
    let summary = summary.ok_or("no summary at the end")?;
    let count = |field: &str| summary.get(field).and_then(Value::as_u64).ok_or(format!("no '{field}' in the summary"));
    let file = summary.pointer("/files/0").cloned().unwrap_or_default();
    let text_of = |field: &str| file.get(field).and_then(Value::as_str).map(str::to_owned);
    let orphans = summary.get("orphan_streams").and_then(Value::as_array);
    let of_calls = calls.iter().filter_map(|call| call.get("streams")?.as_array());
    let figures = Figures {
        packets: Some(count("packets")?),
        sip: Some(Sip {
            messages: count("sip_messages")?,
            call_ids: Some(count("call_ids")?),
            states: calls.iter().filter_map(state).collect(),
        }),
        streams: of_calls.chain(orphans).flatten().filter_map(stream).collect(),
    };
    Ok(Outcome { figures, failure: None, format: text_of("format").unwrap_or_default(), error: text_of("error") })
}

fn state(call: &Value) -> Option<(String, String)> {
    Some((call.get("sip_call_id")?.as_str()?.to_owned(), call.get("state")?.as_str()?.to_owned()))
}

fn stream(value: &Value) -> Option<Stream> {
    let text = |field: &str| value.get(field).and_then(Value::as_str);
    let count = |field: &str| value.get(field).and_then(Value::as_u64);
    let clock = count("clock_rate").is_some_and(|rate| rate > 0);
    let jitter = |field: &str| value.get(field).and_then(Value::as_f64).filter(|_| clock);
    Some(Stream {
        name: Stream::name_of(text("ssrc")?, text("src")?, text("dst")?),
        packets: count("packets")?,
        lost: value.get("lost")?.as_i64()?,
        duplicates: count("duplicates"),
        missing: count("missing"),
        jitter_mean_ms: jitter("jitter_mean_ms"),
        jitter_max_ms: jitter("jitter_max_ms"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_calls_and_summary() {
        let stream =
            r#"{"ssrc":"0x01","src":"a:1","dst":"b:2","packets":5,"lost":-1,"clock_rate":8000,"jitter_mean_ms":0.5}"#;
        let call = format!("{{\"sip_call_id\":\"x\",\"state\":\"answered\",\"streams\":[{stream}]}}");
        let counts = r#""packets":9,"sip_messages":3,"call_ids":1,"orphan_streams":[]"#;
        let files = r#""files":[{"format":"pcap","error":null}]"#;
        let text = format!("{call}\n{{\"summary\":{{{counts},{files}}}}}\n");
        let outcome = parse(&text).unwrap();
        assert_eq!(outcome.figures.packets, Some(9));
        assert_eq!(outcome.figures.streams[0].jitter_mean_ms, Some(0.5));
        assert_eq!(outcome.figures.sip.unwrap().states["x"], "answered");
        assert_eq!((outcome.format.as_str(), outcome.error), ("pcap", None));
    }

    #[test]
    fn output_without_a_summary_is_a_failure() {
        assert!(parse("{\"id\":\"x\"}\n").is_err());
        assert!(parse("Reading...\n").is_err());
    }
}
