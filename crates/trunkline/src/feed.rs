//! Packets out of the packet log for whoever takes them: a file, a socket, Wireshark.

pub mod stream;

use crate::cli::DataFolder;
use crate::command::packet_log::{Part, has_log, named};
use crate::cut;
use crate::failure::Failure;
use crate::search;
use jiff::tz::TimeZone;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use trunkline_capture::FileError;
use trunkline_capture::filter::{self, Expression};
use trunkline_record::index::Span;
use trunkline_record::job::follow::FAULTS_MAX;
use trunkline_record::job::{Extraction, Follow, Found, SegmentFile, Selection, Summary, Wanted};
use trunkline_record::query::{Query, parse};
use trunkline_store::row::Call;

/// Who wants all packets.
pub static NEVER: AtomicBool = AtomicBool::new(false);
/// Packets between two looks at how far it has come.
const TICK_PACKETS: u64 = 256;
/// How long to wait for newer packets.
const ROUND: Duration = Duration::from_millis(100);
/// Ethernet, which an expression has to apply to.
const ETHERNET: u16 = 1;

/// What is asked of the packet log.
pub struct Question {
    /// Which packets.
    pub what: What,
    /// Of which folders and classes.
    pub part: Part,
    /// Capture files in place of the log.
    pub read: Vec<PathBuf>,
    /// No more than so many.
    pub limit: u64,
}

/// Which packets.
pub enum What {
    /// Those of a time that match.
    Matching(Selection),
    /// Those of a call.
    Call(Box<Call>),
    /// Those that match, from now on, as they are recorded.
    Newest(Selection),
}

/// Takes packets.
pub trait Sink {
    /// Takes one; false if no more are wanted.
    ///
    /// # Errors
    /// It cannot be written.
    fn take(&mut self, found: &Found) -> Result<bool, Failure>;

    /// Nothing has come for a moment: what is gathered may go. False if no more are wanted.
    ///
    /// # Errors
    /// It cannot be written.
    fn rest(&mut self) -> Result<bool, Failure>;

    /// So many octets were read, of so many.
    fn progress(&mut self, _done: u64, _total: u64) {}
}

/// An expression, understood by us and, where it needs it, by libpcap.
///
/// # Errors
/// It is none; it needs libpcap and there is no libpcap.
pub fn query(text: &str) -> Result<Query, Failure> {
    let query = parse(text).map_err(|e| Failure::Usage(e.to_string()))?;
    if query.opaque {
        filter::library().map_err(|why| Failure::Failed(why.to_string()))?;
    }
    if query.opaque && !query.inner {
        Expression::compile(&query.text, ETHERNET).map_err(|why| {
            Failure::Usage(format!("libpcap does not understand the expression: {}\n  {}", why.fault, query.text))
        })?;
    }
    Ok(query)
}

/// Packets that match, in this time.
pub fn matching(query: Query, span: Span) -> Selection {
    Selection { query, span, wanted: Wanted::Matching }
}

/// A call by its ID, the beginning of one, or its Call-ID: from the first of the folders that knows it.
///
/// # Errors
/// None knows it, or there is no packet log in any.
pub fn call(id: &str, data: &[PathBuf], zone: &TimeZone) -> Result<Box<Call>, Failure> {
    let mut first = None;
    for path in data {
        let folder = DataFolder { path: path.clone() };
        match search::open(&folder).and_then(|store| search::call(&store, id, &folder, zone)) {
            Ok(call) if data.iter().any(|d| has_log(d)) => return Ok(Box::new(call)),
            Ok(_) => first = Some(Failure::Failed(format!("no packet log in {}", path.display()))),
            Err(why) => _ = first.get_or_insert(why),
        }
    }
    Err(first.unwrap_or(Failure::Failed(format!("no call '{id}'"))))
}

impl Question {
    /// The files that are read for it; none of a call and of what is not recorded yet.
    ///
    /// # Errors
    /// A folder cannot be listed, or there is no packet log.
    pub fn files(&self) -> Result<Vec<SegmentFile>, Failure> {
        match &self.what {
            What::Matching(selection) if self.read.is_empty() => self.part.segments(selection.span),
            What::Matching(_) => {
                let data = self.part.data.first().map(PathBuf::as_path);
                Ok(self.read.iter().enumerate().map(|(source, path)| named(path, source, data)).collect())
            }
            What::Call(_) => self.part.must_have_log().map(|()| Vec::new()),
            // What cannot be listed now would be waited for without end.
            What::Newest(_) => self.part.segments(Span { first_ns: i64::MAX, last_ns: i64::MAX }).map(|_| Vec::new()),
        }
    }

    /// Hands the packets to `sink`, until there are no more or no more are wanted; what was done for it.
    ///
    /// # Errors
    /// A folder cannot be listed, or what `sink` says. Broken segments are told in the summary.
    pub fn answer(&self, sink: &mut dyn Sink) -> Result<Summary, Failure> {
        self.answer_until(sink, &NEVER)
    }

    /// The same until `stop` is true, also while nothing is found.
    ///
    /// # Errors
    /// As [`Question::answer`].
    pub fn answer_until(&self, sink: &mut dyn Sink, stop: &AtomicBool) -> Result<Summary, Failure> {
        // Recording goes first.
        trunkline_spool::idle();
        let mut limited = Limited { sink, left: self.limit };
        if !limited.rest()? {
            return Ok(Summary::default());
        }
        match &self.what {
            What::Matching(selection) => matched(&self.files()?, selection, stop, &mut limited),
            What::Call(call) => cut::log::packets(call, &self.part.data, stop, &mut |found| limited.take(found)),
            What::Newest(selection) => self.newest(selection, &mut limited),
        }
    }

    /// Says at standard error what was broken, unless it was said when it was seen.
    pub fn tell_faults(&self, summary: &Summary) {
        if !matches!(self.what, What::Newest(_)) {
            summary.faults.iter().for_each(say);
        }
        for why in &summary.absent {
            let _ = writeln!(io::stderr(), "trunkline: {why}");
        }
        for (link, why) in &summary.refused {
            let _ = writeln!(io::stderr(), "trunkline: packets of link type {link} were left out: {why}");
        }
    }

    fn newest(&self, selection: &Selection, sink: &mut Limited<'_>) -> Result<Summary, Failure> {
        let mut follow = Follow::new(&self.part.data, &self.part.classes(), selection, &Expression);
        let (mut summary, mut queue) = (Summary::default(), VecDeque::new());
        loop {
            let more = follow.round(Instant::now(), &mut queue);
            for fault in follow.faults() {
                say(&fault);
                summary.faults.push(fault);
                summary.faults.truncate(FAULTS_MAX);
            }
            let mut go_on = true;
            while let Some(found) = queue.pop_front().filter(|_| go_on) {
                summary.packets += 1;
                go_on = sink.take(&found)?;
            }
            if !go_on || !sink.rest()? {
                summary.refused = follow.refusals().map(|(link, why)| (link, why.to_owned())).collect();
                return Ok(summary);
            }
            if !more {
                // Nothing announces what a recorder has flushed.
                std::thread::park_timeout(ROUND);
            }
        }
    }
}

fn say(fault: &FileError) {
    let _ = writeln!(io::stderr(), "trunkline: {fault}");
}

fn matched(
    files: &[SegmentFile],
    selection: &Selection,
    stop: &AtomicBool,
    sink: &mut Limited<'_>,
) -> Result<Summary, Failure> {
    let mut extraction = Extraction::until(files, selection, &Expression, &|_| {}, stop);
    let mut packets = 0u64;
    while sink.left > 0 {
        let Some(found) = extraction.next() else { break };
        packets += 1;
        if !sink.take(&found)? {
            break;
        }
        if packets.is_multiple_of(TICK_PACKETS) {
            let (done, total) = extraction.progress();
            sink.sink.progress(done, total);
        }
    }
    Ok(extraction.finish())
}

/// A sink that has enough after so many.
struct Limited<'s> {
    sink: &'s mut dyn Sink,
    left: u64,
}

impl Limited<'_> {
    fn take(&mut self, found: &Found) -> Result<bool, Failure> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(false) };
        self.left = left;
        Ok(self.sink.take(found)? && left > 0)
    }

    fn rest(&mut self) -> Result<bool, Failure> {
        Ok(self.sink.rest()? && self.left > 0)
    }
}
