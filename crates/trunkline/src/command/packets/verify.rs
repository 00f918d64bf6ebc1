//! `trunkline packets verify`: every segment read, every index compared with a scan.

use crate::bar::Bar;
use crate::command::extract::time;
use crate::command::packet_log::{Part, named};
use crate::failure::Failure;
use crate::output::stdout;
use crate::show::figure;
use crate::terminal::Terminal;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;
use trunkline_capture::FileError;
use trunkline_kit::exit::Exit;
use trunkline_record::job::SegmentFile;
use trunkline_record::job::verify::{Verified, verify};

/// Verifies.
pub fn run(files: &[PathBuf], part: &Part, json: bool, terminal: &Terminal) -> Result<Exit, Failure> {
    let files: Vec<SegmentFile> = if files.is_empty() {
        part.segments(part.span(terminal)?)?
    } else {
        let data = part.data.first().map(PathBuf::as_path);
        files.iter().enumerate().map(|(source, path)| named(path, source, data)).collect()
    };
    let octets = |file: &SegmentFile| std::fs::metadata(&file.path).map_or(0, |m| m.len());
    let total: u64 = files.iter().map(octets).sum();
    let (mut out, mut bar, mut done, mut bad, mut packets) = (stdout(), Bar::new(), 0, 0u64, 0u64);
    for file in &files {
        bar.draw(done, total, || format!("{} of {}", figure::octets(done), figure::octets(total)));
        let found = verify(file);
        done += octets(file);
        packets += found.as_ref().map_or(0, |v| v.facts.packets);
        let faults = faults(&found);
        bad += u64::from(!faults.is_empty());
        if json {
            writeln!(out, "{}", object(file, &found, &faults))?;
        } else {
            faults.iter().try_for_each(|fault| writeln!(out, "{}: {fault}", file.path.display()))?;
        }
    }
    bar.end();
    if !json {
        let (files, packets) =
            (figure::of(files.len() as u64, "file", "files"), figure::of(packets, "packet", "packets"));
        let what = if bad == 0 { "all whole".to_owned() } else { format!("{} damaged", figure::count(bad)) };
        writeln!(out, "{files}, {packets}: {what}")?;
    }
    out.flush()?;
    Ok(if bad == 0 { Exit::Done } else { Exit::Degraded })
}

fn faults(found: &Result<Verified, FileError>) -> Vec<String> {
    let of = |error: &FileError| format!("at octet {}: {}", error.offset, error.fault);
    match found {
        Err(error) => vec![of(error)],
        Ok(v) => v.fault.iter().map(of).chain(v.index.iter().map(|e| format!("its index: {e}"))).collect(),
    }
}

fn object(file: &SegmentFile, found: &Result<Verified, FileError>, faults: &[String]) -> serde_json::Value {
    let facts = found.as_ref().ok().map(|v| v.facts);
    json!({
        "path": file.path.to_string_lossy(), "whole": faults.is_empty(), "faults": faults,
        "packets": facts.map(|f| f.packets), "first": facts.map(|f| time(f.span.first_ns)),
        "last": facts.map(|f| time(f.span.last_ns)), "being_written": file.growing,
        "index_octets": found.as_ref().ok().map(|v| v.index_octets),
    })
}
