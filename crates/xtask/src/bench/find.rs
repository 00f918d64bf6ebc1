//! How fast packets are found in a day's log of a hundred gigabytes, cold, beside tcpdump over the same files.

mod day;
mod report;

use super::log::median;
use super::measure::{self, Measured};
use super::{Bench, Outcome, need};
use day::Day;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The log as it looks, GiB; and what it takes of the disk, with what must be written beside it.
const GIB: u64 = 100;
const DISK_GIB: u64 = 10;
/// Runs of ours, each cold.
const RUNS: usize = 3;

/// What is asked.
pub struct Question {
    /// For the table.
    pub what: &'static str,
    /// What our program is told, behind `extract`.
    pub ours: Vec<String>,
    /// The expression of tcpdump.
    pub theirs: String,
    /// The files that tcpdump has to read; none if it is not asked, because it has read them all for another question.
    pub files: Vec<PathBuf>,
    /// The longest it may take, milliseconds.
    pub budget_ms: f64,
}

/// One run of one program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Until the first packets were there, milliseconds.
    pub first_ms: f64,
    /// Until all were, milliseconds.
    pub all_ms: f64,
    /// Octets of what was written, packets and what is around them.
    pub octets: u64,
    /// Packets, as capinfos counts them.
    pub packets: u64,
    /// What it cost.
    pub cost: Measured,
}

/// A question with its answers: ours cold, ours warm, tcpdump's cold, or why there is none.
pub struct Answer {
    /// What was asked.
    pub question: Question,
    /// Ours after the page cache was emptied: the medians.
    pub cold: Result<Found, String>,
    /// Ours again at once.
    pub warm: Result<Found, String>,
    /// tcpdump after the page cache was emptied.
    pub theirs: Result<Found, String>,
}

/// Makes the log, asks, and takes it away.
///
/// # Errors
/// The log cannot be made.
pub fn run(bench: &Bench<'_>) -> Result<Outcome, String> {
    let needed = [("capinfos", "wireshark-common")];
    if let Some(why) = need::missing(Some("empty the page cache"), &needed) {
        return Ok(Outcome::Skipped(why));
    }
    let (gib, disk) = if bench.quick { (GIB / 10, DISK_GIB / 4) } else { (GIB, DISK_GIB) };
    if let Some(why) = need::no_room(&bench.folder, disk << 30) {
        return Ok(Outcome::Skipped(why));
    }
    let day = day::make(bench, gib)?;
    // What is not on the disk yet stays in the page cache.
    let _ = Command::new("sync").status();
    let questions = day::questions(bench, &day)?;
    let answers: Vec<Answer> = questions.into_iter().map(|question| answer(bench, &day, question)).collect();
    let well = answers.iter().all(|a| a.cold.as_ref().is_ok_and(|f| f.all_ms <= a.question.budget_ms));
    Ok(Outcome::Measured(report::markdown(&day, &answers), well))
}

fn answer(bench: &Bench<'_>, day: &Day, question: Question) -> Answer {
    let ours = || {
        let mut words: Vec<OsString> = vec![bench.program.clone().into(), "extract".into()];
        words.extend(question.ours.iter().map(OsString::from));
        words.extend(["-w".into(), "-".into(), "--data".into(), day.data.clone().into()]);
        words
    };
    let runs = if bench.quick { 1 } else { RUNS };
    let cold: Result<Vec<Found>, String> = (0..runs).map(|_| cold(bench).and_then(|()| ask(bench, &ours()))).collect();
    let cold = cold.map(|found| middle(&found));
    let warm = ask(bench, &ours());
    let theirs = tcpdump(bench, &question);
    for (name, found) in [("trunkline, cold", &cold), ("trunkline, warm", &warm), ("tcpdump, cold", &theirs)] {
        eprintln!("bench: {}: {name}: {found:?}", question.what);
    }
    Answer { question, cold, warm, theirs }
}

/// The medians of several runs.
fn middle(found: &[Found]) -> Found {
    let of = |value: fn(&Found) -> f64| median(found.iter().map(value));
    let first = found[0];
    Found { first_ms: of(|f| f.first_ms), all_ms: of(|f| f.all_ms), ..first }
}

/// tcpdump over the files, all in one process (-V).
fn tcpdump(bench: &Bench<'_>, question: &Question) -> Result<Found, String> {
    if question.files.is_empty() {
        return Err("reads the whole day, as above".to_owned());
    }
    if !need::has("tcpdump") {
        return Err("not installed".to_owned());
    }
    let list = bench.folder.join("files");
    let names: String = question.files.iter().map(|file| format!("{}\n", file.display())).collect();
    std::fs::write(&list, names).map_err(|e| format!("{}: {e}", list.display()))?;
    cold(bench)?;
    let words: Vec<OsString> = vec![
        "tcpdump".into(),
        "-n".into(),
        // Else it becomes another user, who may not read the log.
        "-Z".into(),
        "root".into(),
        "-V".into(),
        list.into(),
        "-w".into(),
        "-".into(),
        question.theirs.clone().into(),
    ];
    ask(bench, &words)
}

/// Empties the page cache, and brings back the programs, which are not what is measured.
fn cold(bench: &Bench<'_>) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("the page cache cannot be emptied: {e}");
    std::fs::write("/proc/sys/vm/drop_caches", "3").map_err(failed)?;
    std::fs::read(&bench.program).map_err(failed)?;
    for words in [&[bench.program.as_os_str(), "help".as_ref()], &["tcpdump".as_ref(), "--version".as_ref()]] {
        let _ = Command::new(words[0]).arg(words[1]).output();
    }
    let _ = Command::new("time").arg("true").output();
    Ok(())
}

/// Runs a program that writes packets to its standard output.
fn ask(bench: &Bench<'_>, words: &[OsString]) -> Result<Found, String> {
    let failed = |e: std::io::Error| e.to_string();
    let (costs, found) = (bench.folder.join("costs"), bench.folder.join("found.pcap"));
    let mut out = File::create(&found).map_err(failed)?;
    let mut command = Command::new("time");
    command.args(["-q", "-f", measure::FORMAT, "-o"]).arg(&costs).args(words);
    let begun = Instant::now();
    // Into a file: tcpdump has something to say of each of thousands of files, and a pipe would fill.
    let said = bench.folder.join("said");
    command.stderr(File::create(&said).map_err(failed)?);
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut from = child.stdout.take().ok_or("no output")?;
    let (mut buffer, mut octets, mut first) = (vec![0; 1 << 16], 0u64, None);
    loop {
        let n = from.read(&mut buffer).map_err(failed)?;
        octets += n as u64;
        if first.is_none() && (octets > HEAD_OCTETS || n == 0) {
            first = Some(begun.elapsed());
        }
        if n == 0 {
            break;
        }
        std::io::Write::write_all(&mut out, &buffer[..n]).map_err(failed)?;
    }
    let all = begun.elapsed();
    if !child.wait().map_err(failed)?.success() {
        let said = std::fs::read_to_string(&said).unwrap_or_default();
        return Err(said.lines().next_back().unwrap_or("it failed").trim().to_owned());
    }
    let cost = measure::parse(&std::fs::read_to_string(&costs).map_err(failed)?).ok_or("time printed no figures")?;
    let ms = |d: std::time::Duration| d.as_secs_f64() * 1e3;
    Ok(Found { first_ms: ms(first.unwrap_or(all)), all_ms: ms(all), octets, packets: packets(&found), cost })
}

/// Octets of a file without a packet, at most: what stands at the beginning of pcap and pcapng.
const HEAD_OCTETS: u64 = 256;

fn packets(file: &Path) -> u64 {
    let output = Command::new("capinfos").args(["-c", "-M", "-T", "-r"]).arg(file).output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    text.lines().next_back().and_then(|line| line.rsplit('\t').next()?.trim().parse().ok()).unwrap_or(0)
}
