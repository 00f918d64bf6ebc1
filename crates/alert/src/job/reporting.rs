//! Reports as the thread of alerts sees them: what is due is made by a thread of its own, and what was made becomes
//! messages in the record that says so.

use super::log::Memory;
use super::making::{Made, Maker, file_of};
use super::{Alerts, Order, now_s};
use crate::counts::ReportCounts;
use crate::delivery::Message;
use crate::entry::Entry;
use crate::report::{Due, Gather, Gathered, Held, LastMade, MessageTold, OfReport};
use crate::rule::{Report, Rules};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds until a report that could not be made is tried again.
const AGAIN_S: i64 = 60;

/// A report as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportShown {
    /// Its name.
    pub name: String,
    /// Its first line.
    pub title: String,
    /// When it is sent, in words.
    pub schedule: String,
    /// Of which time it tells, in words.
    pub span: String,
    /// Who gets it.
    pub channels: Vec<String>,
    /// When it is due next, seconds since 1970.
    pub next_s: Option<i64>,
    /// What was sent last.
    pub last: Option<LastMade>,
    /// Times that were missed.
    pub missed: u64,
    /// The last of these.
    pub missed_s: Option<i64>,
    /// Why it could not be made, if so; it is tried again.
    pub trouble: Option<String>,
}

/// A message that is on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sending {
    /// Where it goes.
    pub channel: String,
    /// Its name.
    pub message: String,
}

/// What is due, what is made, and what lies on the shelf.
#[derive(Debug)]
pub struct Reporting {
    pub maker: Maker,
    pub counts: ReportCounts,
    /// Whether messages came to their end since the shelf was looked at.
    pub is_any_over: bool,
    making: Option<JoinHandle<()>>,
    held: Held,
    troubles: BTreeMap<String, String>,
    on_shelf: BTreeSet<String>,
}

impl Reporting {
    /// Nothing is made yet; these files are needed.
    pub fn new(maker: Maker, on_shelf: BTreeSet<String>) -> Reporting {
        Reporting {
            maker,
            counts: ReportCounts::default(),
            is_any_over: false,
            making: None,
            held: Held::new(),
            troubles: BTreeMap::new(),
            on_shelf,
        }
    }

    /// Begins what is due. All that was put before is written.
    pub fn turn(&mut self, memory: &mut Memory, rules: &Rules, now_s: i64) {
        if core::mem::take(&mut self.is_any_over) && !self.on_shelf.is_empty() {
            let needed = memory.delivery.report_files();
            self.on_shelf.difference(&needed).for_each(|file| self.maker.shelf.remove(file));
            self.on_shelf.retain(|file| needed.contains(file));
        }
        if !self.maker.is_ready() {
            return;
        }
        for due in memory.books.calendar.due(rules, self.making.is_some(), &self.held, now_s) {
            match due {
                Due::Write(reported) => {
                    let before = memory.books.calendar.get(&reported.report).map_or(0, |before| before.missed);
                    let missed = reported.missed - before;
                    self.counts.missed += missed;
                    if missed > 0 {
                        let name = &reported.report;
                        tracing::error!(
                            "the report '{name}' was not sent: it was due more than a day ago ({missed} times)"
                        );
                    }
                    memory.put(vec![Entry::Reported(reported)]);
                }
                Due::Make(name, at_s) => self.begin(&name, rules.reports.get(&name), at_s, now_s),
            }
        }
        // What cannot be written waits, and is told by the log's fault.
        memory.flush();
    }

    fn begin(&mut self, name: &str, report: Option<&Report>, at_s: i64, now_s: i64) {
        let Some(report) = report else { return };
        match self.maker.begin(name, report, at_s) {
            Ok(thread) => self.making = Some(thread),
            Err(error) => self.hold(name, format!("a thread cannot be started: {error}"), now_s),
        }
    }

    fn hold(&mut self, name: &str, why: String, now_s: i64) {
        tracing::warn!("the report '{name}' will be retried in {AGAIN_S} s: {why}");
        self.counts.failed += 1;
        self.held.insert(name.to_owned(), now_s + AGAIN_S);
        self.troubles.insert(name.to_owned(), why);
    }

    /// When something is due next, seconds since 1970.
    pub fn poll_timeout(&self, memory: &Memory, rules: &Rules) -> Option<i64> {
        let next = || memory.books.calendar.poll_timeout(rules, self.making.is_some(), &self.held);
        self.maker.is_ready().then(next).flatten()
    }

    /// What was made for a time of its schedule becomes messages, in one record with the word that it was.
    pub fn made(
        &mut self,
        memory: &mut Memory,
        rules: &Rules,
        (name, at_s): (&str, i64),
        came: Result<Made, String>,
    ) -> Vec<Entry> {
        self.making = None;
        memory.changed = true;
        let now_s = now_s();
        let made = match came {
            Ok(made) => made,
            Err(_) if self.maker.is_over() => return Vec::new(),
            Err(why) => {
                self.hold(name, why, now_s);
                return Vec::new();
            }
        };
        self.held.remove(name);
        self.troubles.remove(name);
        let messages = messages(rules, (name, at_s), &made, now_s);
        let told = messages.iter().map(told).collect();
        // Its schedule may be another one by now, or it may be gone.
        let Some(reported) = memory.books.calendar.made(name, at_s, now_s, told).filter(|_| !messages.is_empty())
        else {
            self.maker.shelf.remove(&made.file);
            return Vec::new();
        };
        self.counts.made += 1;
        self.on_shelf.insert(made.file);
        messages.into_iter().map(Entry::Message).chain([Entry::Reported(reported)]).collect()
    }

    /// Sends what somebody has had made; it is in the log when this returns.
    pub fn send(
        &mut self,
        memory: &mut Memory,
        rules: &Rules,
        of: (&str, i64),
        made: Made,
    ) -> Result<Vec<Sending>, String> {
        let messages = messages(rules, of, &made, now_s());
        let sending = |message: &Message| Sending { channel: message.channel.clone(), message: message.id.clone() };
        let sending = messages.iter().map(sending).collect();
        if messages.is_empty() {
            self.maker.shelf.remove(&made.file);
            return Err(format!("there is no report '{}' any more", of.0));
        }
        self.counts.made += 1;
        self.on_shelf.insert(made.file);
        let told = messages.iter().map(told).collect();
        let reported = memory.books.calendar.sent(of.0, of.1, now_s(), told);
        memory.put(messages.into_iter().map(Entry::Message).chain(reported.map(Entry::Reported)).collect());
        match memory.flush() {
            true => Ok(sending),
            false => Err("the alert log cannot be written: it is sent when it can be".to_owned()),
        }
    }

    /// All reports.
    pub fn shown(&self, memory: &Memory, rules: &Rules) -> Vec<ReportShown> {
        let shown = |(name, report): (&String, &Report)| {
            let known = memory.books.calendar.get(name);
            ReportShown {
                name: name.clone(),
                title: report.title.clone(),
                schedule: report.schedule_text(),
                span: report.length.to_string(),
                channels: report.channels.clone(),
                next_s: known.and_then(|known| report.next_after(known.until_s)),
                last: known.and_then(|known| known.last.clone()),
                missed: known.map_or(0, |known| known.missed),
                missed_s: known.and_then(|known| known.missed_s),
                trouble: self.troubles.get(name).cloned(),
            }
        };
        rules.reports.iter().map(shown).collect()
    }

    /// Waits for what is being made: it ends at its next section, or picture.
    pub fn end(&mut self) {
        if let Some(thread) = self.making.take() {
            // A panic of its own was told when it happened.
            let _ended = thread.join();
        }
    }
}

fn told(message: &Message) -> MessageTold {
    MessageTold { message: message.id.clone(), channel: message.channel.clone(), came: None }
}

/// The messages of a report: one for each of its channels.
fn messages(rules: &Rules, (name, at_s): (&str, i64), made: &Made, now_s: i64) -> Vec<Message> {
    let channels: BTreeSet<&String> =
        rules.reports.get(name).map(|report| &report.channels).into_iter().flatten().collect();
    let of = OfReport { report: name.to_owned(), subject: made.subject.clone(), at_s, file: made.file.clone() };
    channels.into_iter().map(|channel| Message::of_report(of.clone(), channel, now_s)).collect()
}

impl Alerts {
    /// Which devices there are at this moment, and which are up, where that is known; others are forgotten.
    pub fn set_devices(&self, up: BTreeMap<String, Option<bool>>) {
        let _ended = self.orders.send(Order::Devices(up));
    }

    /// Has reports made from now on, with what this gathers.
    pub fn report_with(&self, gather: Arc<dyn Gather>) {
        if self.maker.gather.set(gather).is_ok() {
            let _ended = self.orders.send(Order::Ready);
        }
    }

    /// Has no report made any more; what is being made ends soon.
    pub fn end_reports(&self) {
        self.maker.end();
    }

    fn report(&self, name: &str) -> Result<Report, String> {
        let rules = self.rules();
        rules.reports.get(name).cloned().ok_or_else(|| format!("there is no report '{name}'"))
    }

    /// Gathers a report as of a time, to be looked at; none is now.
    ///
    /// # Errors
    /// There is none of that name, or it cannot be made at present.
    pub fn preview(&self, name: &str, at_s: Option<i64>) -> Result<Gathered, String> {
        self.maker.gather(name, &self.report(name)?, at_s.unwrap_or_else(now_s))
    }

    /// Has a report sent as of a time, whatever its schedule says; its messages are in the log when this returns.
    ///
    /// # Errors
    /// As [`preview`](Self::preview); it cannot be written.
    pub fn send_report(&self, name: &str, at_s: Option<i64>) -> Result<Vec<Sending>, String> {
        let at_s = at_s.unwrap_or_else(now_s);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let file = format!("{}-{}", file_of(name, at_s), since.as_nanos());
        let made = self.maker.make(name, &self.report(name)?, at_s, &file)?;
        let (reply, comes) = sync_channel(1);
        let order = Order::Send { report: name.to_owned(), at_s, made, reply };
        let ended = || "the alert job has stopped".to_owned();
        self.orders.send(order).map_err(|_| ended())?;
        comes.recv().unwrap_or_else(|_| Err(ended()))
    }
}
