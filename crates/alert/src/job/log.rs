//! What is known, and the log that remembers it.

use crate::delivery::{Delivery, History, Outcomes};
use crate::engine::Engine;
use crate::entry::Entry;
use crate::report::Books;
use crate::rule::Rules;
use core::cell::{Cell, RefCell};
use std::io;
use std::path::Path;
use std::sync::Arc;
use trunkline_commit::{Folder, Group, Keep, Log, Options, Refused, SNAPSHOTS_KEPT, SnapshotWriter};

const OPTIONS: Options = Options { segment_octets: 8 << 20, waiting_octets: 8 << 20 };
/// Records after which a snapshot is taken.
const SNAPSHOT_RECORDS: u64 = 20_000;
/// Entries of subjects in a record.
const RECORD_ENTRIES: usize = 16;

/// The job cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The folder of the log cannot be opened.
    #[error("{0}: {1}")]
    Folder(String, #[source] io::Error),
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] trunkline_commit::Fault),
    /// A channel cannot be used: its name, and why.
    #[error("channel '{0}': {1}")]
    Channel(String, String),
    /// A thread cannot be started.
    #[error("a thread cannot be started: {0}")]
    Thread(#[source] io::Error),
}

impl Fault {
    /// Whether the log is damaged: a person decides how it goes on.
    pub fn is_damage(&self) -> bool {
        matches!(self, Fault::Log(fault) if fault.is_damage())
    }
}

/// States, what is to be told, and the log of both.
pub struct Memory {
    pub engine: Engine,
    pub delivery: Delivery,
    pub books: Books,
    /// Why the log cannot be written, if it cannot.
    pub fault: Option<String>,
    /// Whether anything was taken over since it was looked at.
    pub changed: bool,
    log: Log<Folder>,
    group: Group,
    /// Entries of the records in the group, and records that did not fit into it.
    written: Vec<Vec<Entry>>,
    waiting: Vec<Vec<Entry>>,
    snapshot: u64,
    /// Snapshots to be taken until what left the history has left the disk.
    leaving: usize,
}

impl Memory {
    /// Reads what there is, and goes on.
    pub fn open(path: &Path, rules: &Arc<Rules>, now_s: i64) -> Result<Memory, Fault> {
        let folder = Folder::open(path).map_err(|error| Fault::Folder(path.display().to_string(), error))?;
        Memory::open_on(Arc::new(folder), rules, now_s)
    }

    /// The same in a folder that is open.
    pub fn open_on(folder: Arc<Folder>, rules: &Arc<Rules>, now_s: i64) -> Result<Memory, Fault> {
        let known = (Engine::new(Arc::clone(rules)).with_secret(), Delivery::new(Arc::clone(rules)), Books::default());
        let known = RefCell::new(known);
        let apply = |record: &[u8]| {
            let (engine, delivery, books) = &mut *known.borrow_mut();
            for entry in Entry::decode(record).map_err(|error| error.to_string())? {
                engine.apply(&entry);
                delivery.apply(&entry);
                books.apply(&entry);
            }
            Ok(())
        };
        let given_up = Cell::new(0_u64);
        let log = Log::open(folder, OPTIONS, apply, |_, record| match record {
            [] => {
                given_up.set(given_up.get() + 1);
                Ok(())
            }
            record => apply(record),
        })?;
        if given_up.get() > 0 {
            tracing::warn!(records = given_up.get(), "a repair dropped records of the alert log");
        }
        for damaged in &log.found().damaged {
            tracing::error!("the alert log is damaged; continuing without: {damaged}");
        }
        if log.found().cut_off {
            tracing::warn!("the end of the log of alerts was cut off by a crash: entries that were not acted upon");
        }
        let (engine, delivery, books) = known.into_inner();
        let (snapshot, group, leaving) = (log.found().snapshot, Group::new(&OPTIONS), 0);
        let (written, waiting) = (Vec::new(), Vec::new());
        let mut memory = Memory {
            engine,
            delivery,
            books,
            fault: None,
            changed: true,
            log,
            group,
            written,
            waiting,
            snapshot,
            leaving,
        };
        memory.engine.resume(now_s);
        let mut over = Vec::new();
        memory.engine.forget_forgotten(now_s, &mut over);
        memory.put(over);
        memory.books.calendar.resume(rules);
        let end = memory.books.outages.resume();
        memory.put(end.map(Entry::Devices).into_iter().collect());
        for record in memory.delivery.resume(now_s) {
            memory.put(record);
        }
        match memory.flush() {
            true => Ok(memory),
            false => Err(Fault::Channel("log".to_owned(), memory.fault.unwrap_or_default())),
        }
    }

    /// Where the log is.
    pub fn folder(&self) -> &Arc<Folder> {
        self.log.disk()
    }

    /// Goes on with what was read again from the same log; what was counted stays.
    pub fn become_again(&mut self, again: Memory) {
        let before = core::mem::replace(self, again);
        self.engine.count_on_from(before.engine);
        self.delivery.count_on_from(&before.delivery);
    }

    /// Its files are not those that it had open: nothing is written any more.
    pub fn stay_closed(&mut self, why: &str) {
        tracing::error!("no alert notifications are sent, because the alert log cannot be written: {why}");
        self.log.close();
        self.fault = Some(why.to_owned());
    }

    /// Knows by other rules what it knows; what was on its way is in doubt.
    pub fn go_on_by(&mut self, rules: &Arc<Rules>, now_s: i64) {
        // Written and taken over, as far as the log can be written; the rest is of the old rules, and stays in line.
        self.flush();
        let before = core::mem::replace(&mut self.engine, Engine::new(Arc::clone(rules)));
        self.engine.go_on_from(before, now_s);
        let mut delivery = Delivery::new(Arc::clone(rules));
        self.delivery.snapshot(|entry| delivery.apply(&entry));
        let before = core::mem::replace(&mut self.delivery, delivery);
        self.changed = true;
        self.books.calendar.resume(rules);
        let hidden = self.delivery.resume(now_s);
        self.delivery.go_on_from(before);
        hidden.into_iter().for_each(|record| self.put(record));
    }

    /// Entries for the next [`flush`](Self::flush). What is told of a subject stays in the record of its standing.
    pub fn put(&mut self, entries: Vec<Entry>) {
        let mut record = Vec::new();
        for entry in entries {
            if record.len() >= RECORD_ENTRIES && matches!(entry, Entry::Standing(_) | Entry::Hour(_)) {
                self.waiting.push(core::mem::take(&mut record));
            }
            record.push(entry);
        }
        if !record.is_empty() {
            self.waiting.push(record);
        }
    }

    /// Writes what waits, then takes it over; false if the log cannot be written: all waits on.
    pub fn flush(&mut self) -> bool {
        while !self.waiting.is_empty() || self.group.count() > 0 {
            self.fill();
            if let Err(fault) = self.log.commit(&mut self.group) {
                if self.fault.is_none() {
                    tracing::error!(
                        "no alert notifications are sent, because the alert log cannot be written: \
                        {fault}"
                    );
                }
                self.fault = Some(fault.to_string());
                return false;
            }
            self.fault = None;
            self.changed = true;
            for entry in self.written.drain(..).flatten() {
                self.delivery.apply(&entry);
                self.books.apply(&entry);
            }
        }
        if self.log.next() > self.snapshot + SNAPSHOT_RECORDS {
            self.take_snapshot();
        }
        true
    }

    /// Puts records that wait into the group, as many as fit.
    fn fill(&mut self) {
        let mut taken = 0;
        for entries in &mut self.waiting {
            match self.group.put(&Entry::encode(entries)) {
                Ok(()) => {}
                Err(Refused::Long) if entries.len() > 1 => break,
                Err(Refused::Long) => {
                    tracing::error!("an alert entry is too long for the log and is dropped");
                    entries.clear();
                }
                Err(_) => break,
            }
            taken += 1;
        }
        self.written.extend(self.waiting.drain(..taken));
        // One that is too long together is written one after the other.
        if taken == 0 && self.group.count() == 0 && !self.waiting.is_empty() {
            let entries = self.waiting.remove(0);
            self.waiting.splice(0..0, entries.into_iter().map(|entry| vec![entry]));
        }
    }

    /// Forgets alerts that are over and not of this history. Snapshots without them are taken, one now and one the next
    /// time that this is asked and something was recorded since: then the segments that have them are not needed.
    pub fn keep_history(&mut self, history: History) {
        self.changed |= self.delivery.history() != history;
        let gone = self.delivery.keep_history(history);
        if gone > 0 {
            self.changed = true;
            self.leaving = SNAPSHOTS_KEPT;
            self.log.end_segment();
            tracing::info!(gone, "alerts: deleted old alerts from the history");
        }
        if self.leaving > 0 && self.log.next() > self.snapshot + 1 {
            self.leaving -= 1;
            self.take_snapshot();
        }
    }

    fn take_snapshot(&mut self) {
        let last = self.log.next() - 1;
        self.snapshot = last;
        let written = SnapshotWriter::begin(&**self.log.disk(), last).and_then(|mut writer| {
            let mut put = Ok(());
            let mut each = |entry: Entry| {
                if put.is_ok() {
                    put = writer.put(&Entry::encode(core::slice::from_ref(&entry)));
                }
            };
            self.engine.snapshot(&mut each);
            self.delivery.snapshot(&mut each);
            self.books.snapshot(&mut each);
            put.and_then(|()| writer.finish(Keep::Needed).map(drop))
        });
        if let Err(fault) = written {
            // The log is whole without it, only longer.
            tracing::warn!("no snapshot of alerts: {fault}");
        }
    }
}

/// Says what came of an attempt, where that is not what was wanted.
pub fn tell(message: &str, came: &Outcomes) {
    match came {
        Outcomes::Delivered => {}
        Outcomes::Failed(why) => tracing::warn!("message {message} was not delivered, will retry: {why}"),
        Outcomes::InDoubt(why) => tracing::warn!("it is unknown whether message {message} was delivered: {why}"),
        Outcomes::GivenUp(why) => tracing::error!("message {message} failed: {why}"),
        Outcomes::LeftInDoubt(why) => tracing::error!("message {message} is unconfirmed and is not sent again: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Observation;
    use crate::rule::{Known, read};

    /// As many records as a snapshot is taken after: what is read then is what was known, and most of the log is gone.
    #[test]
    fn a_start_from_a_snapshot_knows_what_was_known() {
        let text = "[rule.r]\nvalue = \"v\"\nlimit = 5\n[route.a]\nchannels = \"c\"\n[channel.c]\n\
            kind = \"webhook\"\nurl = \"http://127.0.0.1/\"\n";
        let rules = Arc::new(read(&[("r.toml", text)], &Known::default()).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let mut memory = Memory::open(folder.path(), &rules, 0).unwrap();
        let known = |memory: &Memory| {
            let mut all = Vec::new();
            memory.engine.snapshot(|entry| all.push(entry));
            memory.delivery.snapshot(|entry| all.push(entry));
            all
        };
        for at_s in 1..=i64::try_from(SNAPSHOT_RECORDS).unwrap() + 50 {
            let mut out = Vec::new();
            let subject = format!("s{}", at_s % 7);
            let value = Some(if at_s / 7 % 2 == 0 { 9.0 } else { 1.0 });
            let seen = Observation { rule: "r", subject: &subject, device: "", fields: &[], at_s, value, samples: 1 };
            memory.engine.observe(&seen, &mut out);
            memory.put(out);
            if at_s % 1000 == 0 {
                assert!(memory.flush());
            }
        }
        assert!(memory.flush());
        let before = known(&memory);
        drop(memory);
        let again = Memory::open(folder.path(), &rules, 30_000).unwrap();
        assert!(again.log.found().snapshot > 0);
        assert_eq!(known(&again), before);
    }

    /// What is over leaves the history by number and age, and the disk with the second snapshot.
    #[test]
    fn what_leaves_the_history_leaves_the_disk() {
        let rules = Arc::new(read(&[("r.toml", "[rule.r]\nvalue = \"v\"\nlimit = 5\n")], &Known::default()).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let mut memory = Memory::open(folder.path(), &rules, 0).unwrap();
        let observe = |memory: &mut Memory, subject: &str, at_s: i64, value: f64| {
            let (mut out, value) = (Vec::new(), Some(value));
            let seen = Observation { rule: "r", subject, device: "", fields: &[], at_s, value, samples: 1 };
            memory.engine.observe(&seen, &mut out);
            memory.put(out);
            assert!(memory.flush());
        };
        for n in 0..10 {
            observe(&mut memory, &format!("subject-{n}"), n * 100, 9.0);
            observe(&mut memory, &format!("subject-{n}"), n * 100 + 50, 1.0);
        }
        let ended = |memory: &Memory| memory.delivery.past().map(|past| past.ended_s).collect::<Vec<_>>();
        let all: Vec<i64> = (0..10).map(|n| n * 100 + 50).collect();
        assert_eq!(ended(&memory), all);
        memory.keep_history(History { entries: 8, since_s: None });
        assert_eq!(ended(&memory), all[2..]);
        memory.keep_history(History { entries: 8, since_s: Some(451) });
        assert_eq!(ended(&memory), all[5..]);
        let names = || {
            let mut names: Vec<String> = std::fs::read_dir(folder.path())
                .unwrap()
                .map(|f| f.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        let text = || -> String {
            let read = |name: &String| std::fs::read(folder.path().join(name)).unwrap();
            String::from_utf8_lossy(&names().iter().flat_map(read).collect::<Vec<u8>>()).into_owned()
        };
        let first = names().into_iter().find(|name| name.ends_with(".log")).unwrap();
        for n in 10..12 {
            observe(&mut memory, &format!("later-{n}"), n * 100, 9.0);
            memory.keep_history(History { entries: 8, since_s: Some(451) });
        }
        assert!(!names().contains(&first), "{:?}", names());
        let text = text();
        let stands = |n: usize| text.contains(&format!("\"ended_s\":{}", all[n]));
        assert!(!stands(0) && !stands(4) && stands(5) && stands(9));
        drop(memory);
        let mut again = Memory::open(folder.path(), &rules, 2_000).unwrap();
        again.keep_history(History { entries: 8, since_s: Some(451) });
        assert_eq!(ended(&again), all[5..]);
    }
}
