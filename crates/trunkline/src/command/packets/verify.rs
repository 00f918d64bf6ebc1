//! `trunkline packets verify`: every segment read and compared with its checksums, every index with a scan.

use crate::bar::Bar;
use crate::command::extract::time;
use crate::command::packet_log::{Part, named};
use crate::failure::Failure;
use crate::output::stdout;
use crate::show::figure;
use crate::terminal::Terminal;
use crate::verify::packets::{places, reason};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;
use trunkline_capture::FileError;
use trunkline_kit::exit::Exit;
use trunkline_record::identity::LogId;
use trunkline_record::job::SegmentFile;
use trunkline_record::job::verify::{Belongs, Contents, Depth, NotChecked, Verified, belongs, verify};

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
    let (mut out, mut bar, mut done, mut bad, mut packets, mut unchecked) =
        (stdout(), Bar::start(), 0, 0u64, 0u64, 0u64);
    let logs = part.logs();
    for file in &files {
        bar.draw(done, total, || format!("{} of {}", figure::octets(done), figure::octets(total)));
        let found = verify(file, Depth::Contents);
        done += octets(file);
        packets += found.as_ref().ok().and_then(|v| v.facts).map_or(0, |facts| facts.packets);
        unchecked += u64::from(found.as_ref().is_ok_and(is_unchecked));
        let strange =
            found.as_ref().ok().and_then(|found| strange(file, found, logs.get(file.source).copied().flatten()));
        let faults: Vec<String> = faults(&found).into_iter().chain(strange).collect();
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
        writeln!(out, "{files}, {packets}: {what}{}", without_sums(unchecked))?;
    }
    out.flush()?;
    Ok(if bad == 0 { Exit::Done } else { Exit::Degraded })
}

/// That a segment is another one than its name says, or of another log.
fn strange(file: &SegmentFile, found: &Verified, log: Option<LogId>) -> Option<String> {
    match belongs(file, (found.identity.as_ref(), found.facts.as_ref()), log) {
        Belongs::Elsewhere(why) => Some(why),
        Belongs::Here | Belongs::Unknown(_) => None,
    }
}

fn faults(found: &Result<Verified, FileError>) -> Vec<String> {
    let of = |error: &FileError| format!("at octet {}: {}", error.offset, error.fault);
    match found {
        Err(error) => vec![of(error)],
        Ok(v) => {
            let index = v.index.iter().map(|e| format!("its index: {e}"));
            let contents = match &v.contents {
                Contents::Damaged(compared) => places(compared),
                _ => Vec::new(),
            };
            v.fault.iter().map(of).chain(index).chain(contents).collect()
        }
    }
}

/// Whether nobody knows whether what is in the packets is what was recorded.
fn is_unchecked(found: &Verified) -> bool {
    matches!(found.contents, Contents::NotChecked(_))
}

fn without_sums(files: u64) -> String {
    match files {
        0 => String::new(),
        n => format!("; the contents of {} could not be checked", figure::of(n, "file", "files")),
    }
}

fn object(file: &SegmentFile, found: &Result<Verified, FileError>, faults: &[String]) -> serde_json::Value {
    let facts = found.as_ref().ok().and_then(|v| v.facts);
    let not_checked = |v: &Verified| match v.contents {
        Contents::NotChecked(why) => Some(why),
        _ => None,
    };
    let not_checked: Option<NotChecked> = found.as_ref().ok().and_then(not_checked);
    json!({
        "path": file.path.to_string_lossy(), "whole": faults.is_empty(), "faults": faults,
        "packets": facts.map(|f| f.packets), "first": facts.map(|f| time(f.span.first_ns)),
        "last": facts.map(|f| time(f.span.last_ns)), "being_written": file.growing,
        "not_checked": not_checked.map(reason), "index_octets": found.as_ref().ok().map(|v| v.index_octets),
    })
}
