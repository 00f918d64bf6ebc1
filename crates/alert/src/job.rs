//! The job: one thread that has the rules, the states and the log; one that tells people, through all channels.
//!
//! Who watches (the poller, whoever measures rows) hands over what was seen and goes on: the queue is bounded, and what
//! does not fit is refused and counted. Nothing is sent that is not on disk before.

mod command;
pub(crate) mod control;
mod forgetting;
mod log;
pub(crate) mod mail;
mod making;
mod reporting;
mod seen;
mod sender;
mod shelf;
mod syslog;
mod webhook;
mod wire;

use crate::counts::{DeliveryCounts, EngineCounts, ReportCounts};
use crate::delivery::{Acknowledged, History, Incident, Message, Outcomes, Past, Told};
use crate::engine::{Engine, Observation, Silence, Standing, Unsilenced};
use crate::entry::Entry;
use crate::report::DeviceFigures;
use crate::rule::{Pattern, Rules};
use log::Memory;
use making::{Made, Maker};
use reporting::Reporting;
use sender::Sender;
use shelf::Shelf;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use trunkline_commit::Redacted;
use trunkline_kit::forgotten::Forgotten;
use trunkline_kit::metrics::Sample;

pub use control::Control;
pub use forgetting::forget_number;
pub use log::Fault;
pub(crate) use mail::base64;
pub use reporting::{ReportShown, Sending};
pub use seen::{Refused, Seen};
pub use shelf::{REPORT_OCTETS_MAX, REPORTS_WAITING_MAX};

/// Observations that wait for the thread; more are refused.
// Limit: observations waiting for the rules
// Beyond: further ones are refused
// Seen in: `trunkline_alert_refused_observations_overflow_total`
pub const OBSERVATIONS_WAITING_MAX: usize = 100_000;
/// Orders that are taken together before anything else is looked at.
const ORDERS_TOGETHER: usize = 1024;
/// How long the thread waits at most.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// How often values of alerts that have not changed otherwise are shown.
const VALUES_EVERY: Duration = Duration::from_secs(1);
/// How much longer than an attempt may take a test of a channel is waited for.
const TEST_PATIENCE: Duration = Duration::from_secs(10);
/// How long a log that could not be written is left.
const AGAIN: Duration = Duration::from_secs(1);

/// What the thread is asked.
enum Order {
    See(Vec<Seen>),
    Forget {
        rule: String,
        subject: String,
    },
    Parents {
        device: String,
        parents: Vec<String>,
    },
    Maintained(BTreeSet<String>),
    Doubted(BTreeSet<(String, String)>),
    Acknowledge {
        incident: String,
        who: String,
    },
    Silence(Silence, SyncSender<bool>),
    Unsilence(Unsilenced, SyncSender<bool>),
    Rules(Box<Rules>, SyncSender<Result<(), Fault>>),
    Test {
        channel: String,
        reply: SyncSender<Outcomes>,
    },
    Followed {
        rule: String,
        after: String,
        limit: usize,
        reply: SyncSender<Vec<Standing>>,
    },
    Came {
        message: String,
        came: Outcomes,
    },
    /// Which devices there are, and which are up.
    Devices(BTreeMap<String, Option<bool>>),
    /// How devices were in a span.
    Availability {
        devices: Vec<Pattern>,
        span: (i64, i64),
        limit: usize,
        reply: SyncSender<DeviceFigures>,
    },
    /// A report for a time of its schedule is on disk, or could not be made.
    Made {
        report: String,
        at_s: i64,
        came: Result<Made, String>,
    },
    /// A report that is on disk is sent, as somebody wants it.
    Send {
        report: String,
        at_s: i64,
        made: Made,
        reply: SyncSender<Result<Vec<Sending>, String>>,
    },
    /// Which alerts that are over are remembered.
    History(History),
    /// Reports can be made from now on.
    Ready,
    /// A number becomes unreadable, or is only looked for.
    ForgetNumber(Forgotten, bool, SyncSender<Result<Redacted, String>>),
    Stop,
}

/// What others may look at.
#[derive(Debug, Default)]
struct Shared {
    waiting: AtomicUsize,
    refused: AtomicU64,
    view: Mutex<View>,
    shown: Condvar,
}

/// How things stand, as of the last turn of the thread.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Alerts that are not over.
    pub incidents: Vec<Incident>,
    /// Subjects that are not simply well, at most [`View::STANDINGS_MAX`].
    pub standings: Vec<Standing>,
    /// Alerts that are over, the newest last, as far as [`View::history`] has them remembered.
    pub past: Vec<Past>,
    /// Which of them are.
    pub history: History,
    /// What came of the last attempts, the newest last, at most [`TOLD_MAX`](crate::delivery::TOLD_MAX).
    pub told: Vec<Told>,
    /// Silences that are not over.
    pub silences: Vec<Silence>,
    /// How many subjects each rule has.
    pub watched: BTreeMap<String, usize>,
    /// Messages that wait.
    pub waiting: usize,
    /// What rules counted.
    pub engine: EngineCounts,
    /// What delivery counted.
    pub delivery: DeliveryCounts,
    /// Reports, by name.
    pub reports: Vec<ReportShown>,
    /// What was counted of them.
    pub reported: ReportCounts,
    /// Why the log cannot be written, if it cannot: nothing is told meanwhile.
    pub fault: Option<String>,
    /// Grows when anything but a value has changed; begins anew with the program.
    pub revision: u64,
}

impl View {
    /// Subjects and alerts that a view lists.
    pub const STANDINGS_MAX: usize = 10_000;
}

/// The job. Dropped, it writes what waits, and ends.
#[derive(Debug)]
pub struct Alerts {
    orders: mpsc::Sender<Order>,
    shared: Arc<Shared>,
    rules: Arc<RwLock<Arc<Rules>>>,
    maker: Maker,
    thread: Option<JoinHandle<()>>,
}

impl Alerts {
    /// Opens the log in a folder and goes on where it ended.
    ///
    /// # Errors
    /// [`Fault`]: the log cannot be opened, a channel's files cannot be read, a thread cannot be started.
    pub fn start(folder: &Path, rules: Rules) -> Result<Alerts, Fault> {
        let (orders, taken) = mpsc::channel();
        let shelf = Shelf::of(folder);
        let sender = sender(&rules, &shelf, &orders)?;
        let rules = Arc::new(rules);
        let memory = Memory::open(folder, &rules, now_s())?;
        shelf.keep_only(&memory.delivery.report_files());
        let shared = Arc::new(Shared::default());
        let maker = Maker {
            shelf,
            orders: orders.clone(),
            shared: Arc::clone(&shared),
            gather: Arc::default(),
            ends: Arc::default(),
            one: Arc::default(),
        };
        let shown = Arc::new(RwLock::new(Arc::clone(&rules)));
        let reporting = Reporting::new(maker.clone(), memory.delivery.report_files());
        let mut turning = Turning {
            memory,
            sender,
            back: orders.clone(),
            taken,
            shared: Arc::clone(&shared),
            shown: Arc::clone(&shown),
            rules,
            reporting,
            tests: BTreeMap::new(),
            count: 0,
            values_came: false,
            standings_shown: None,
        };
        turning.show();
        let thread = std::thread::Builder::new().name("alert".to_owned()).spawn(move || turning.run());
        Ok(Alerts { orders, shared, rules: shown, maker, thread: Some(thread.map_err(Fault::Thread)?) })
    }

    /// Shows rules what was seen.
    ///
    /// # Errors
    /// [`Refused`]: none of it was taken.
    pub fn observe(&self, seen: Vec<Seen>) -> Result<(), Refused> {
        let count = seen.len();
        let waiting = self.shared.waiting.fetch_add(count, Ordering::AcqRel);
        if waiting + count > OBSERVATIONS_WAITING_MAX {
            self.shared.waiting.fetch_sub(count, Ordering::AcqRel);
            self.shared.refused.fetch_add(count as u64, Ordering::Relaxed);
            return Err(Refused::Waiting);
        }
        self.orders.send(Order::See(seen)).map_err(|_| Refused::Ended)
    }

    /// A subject is there no more.
    pub fn forget(&self, rule: &str, subject: &str) {
        let _ended = self.orders.send(Order::Forget { rule: rule.to_owned(), subject: subject.to_owned() });
    }

    /// From now on only these alerts that are over are remembered; others leave the disk with the snapshots that have
    /// them.
    pub fn keep_history(&self, history: History) {
        let _ended = self.orders.send(Order::History(history));
    }

    /// Through which devices a device is reached.
    pub fn set_parents(&self, device: &str, parents: Vec<String>) {
        let _ended = self.orders.send(Order::Parents { device: device.to_owned(), parents });
    }

    /// Rules and devices of which it is being found out whether they are in trouble: alerts that this would keep back
    /// wait for it.
    pub fn set_doubted(&self, doubted: BTreeSet<(String, String)>) {
        let _ended = self.orders.send(Order::Doubted(doubted));
    }

    /// The devices that are worked at: nothing of them is an alert.
    pub fn set_maintained(&self, devices: BTreeSet<String>) {
        let _ended = self.orders.send(Order::Maintained(devices));
    }

    /// The rules that hold now.
    pub fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Goes on by other rules. States and messages stay, as far as there are still rules and channels for them; what
    /// was on its way is sent again under the same name. Windows of rules that see something else fill anew.
    ///
    /// # Errors
    /// [`Fault`]: a channel's files cannot be read, a thread cannot be started; the rules stay what they were.
    pub fn reload(&self, rules: Rules) -> Result<(), Fault> {
        let ended = || Err(Fault::Channel("*".to_owned(), "the alert job has stopped".to_owned()));
        self.ask(|reply| Order::Rules(Box::new(rules), reply)).unwrap_or_else(ended)
    }

    /// Keeps alerts back for a time; false if there are too many silences, its tests cannot be read, or the log cannot
    /// be written.
    pub fn silence(&self, silence: Silence) -> bool {
        self.ask(|reply| Order::Silence(silence, reply)).unwrap_or(false)
    }

    /// Ends a silence; false if there is none of that name, or the log cannot be written.
    pub fn unsilence(&self, over: Unsilenced) -> bool {
        self.ask(|reply| Order::Unsilence(over, reply)).unwrap_or(false)
    }

    /// Sends a message that tries out a channel, once; what came of it. None where there is no such channel.
    pub fn test(&self, channel: &str) -> Option<Outcomes> {
        let patience_s = self.rules().channels.get(channel)?.timeout_s.unsigned_abs();
        let (reply, comes) = sync_channel(1);
        self.orders.send(Order::Test { channel: channel.to_owned(), reply }).ok()?;
        let came = comes.recv_timeout(Duration::from_secs(patience_s) + TEST_PATIENCE);
        Some(came.unwrap_or_else(|_| Outcomes::Failed("it is queued behind undelivered messages".to_owned())))
    }

    /// Subjects that a rule follows and how they stand, in the order of their names, those after one.
    pub fn followed(&self, rule: &str, after: &str, limit: usize) -> Vec<Standing> {
        let (rule, after) = (rule.to_owned(), after.to_owned());
        self.ask(|reply| Order::Followed { rule, after, limit, reply }).unwrap_or_default()
    }

    fn ask<T>(&self, ask: impl FnOnce(SyncSender<T>) -> Order) -> Option<T> {
        let (reply, comes) = sync_channel(1);
        self.orders.send(ask(reply)).ok()?;
        comes.recv().ok()
    }

    /// Somebody takes care of an alert: it is not escalated any more.
    pub fn acknowledge(&self, incident: &str, who: &str) {
        let _ended = self.orders.send(Order::Acknowledge { incident: incident.to_owned(), who: who.to_owned() });
    }

    /// How things stand.
    pub fn view(&self) -> View {
        self.shared.view.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks at how things stand without a copy of it: the thread waits meanwhile.
    pub fn look<T>(&self, look: impl FnOnce(&View) -> T) -> T {
        look(&self.shared.view.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until a view is as it should be; false if it is not within `at_most`.
    pub fn wait_for(&self, at_most: Duration, holds: impl Fn(&View) -> bool) -> bool {
        let view = self.shared.view.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.shared.shown.wait_timeout_while(view, at_most, |view| !holds(view));
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Metrics of all.
    pub fn samples(&self) -> Vec<Sample> {
        let view = self.view();
        let counted = [view.engine.list(), view.delivery.list(), view.reported.list()].concat();
        let mut samples: Vec<Sample> = counted.into_iter().map(Sample::from).collect();
        let refused = self.shared.refused.load(Ordering::Relaxed);
        samples.extend([
            Sample::counter(
                "trunkline_alert_refused_observations_overflow_total",
                "observations that were refused",
                refused,
            ),
            Sample::gauge("trunkline_alert_waiting_messages_count", "messages that wait", view.waiting as f64),
            Sample::gauge("trunkline_alert_open_alerts_count", "alerts not over", view.incidents.len() as f64),
        ]);
        samples
    }
}

impl Drop for Alerts {
    fn drop(&mut self) {
        self.maker.end();
        let _ended = self.orders.send(Order::Stop);
        if let Some(thread) = self.thread.take() {
            // A panic of its own was told when it happened.
            let _ended = thread.join();
        }
    }
}

/// The thread.
struct Turning {
    memory: Memory,
    sender: Sender,
    back: mpsc::Sender<Order>,
    taken: Receiver<Order>,
    shared: Arc<Shared>,
    rules: Arc<Rules>,
    shown: Arc<RwLock<Arc<Rules>>>,
    reporting: Reporting,
    /// Who waits for what comes of a message that tries out a channel.
    tests: BTreeMap<String, SyncSender<Outcomes>>,
    count: u64,
    /// Whether values of alerts came that are not shown yet.
    values_came: bool,
    /// When all standings were shown last.
    standings_shown: Option<Instant>,
}

impl Turning {
    fn run(mut self) {
        loop {
            let pause = self.turn();
            self.show();
            let pause = if self.values_came { pause.min(VALUES_EVERY) } else { pause };
            match self.taken.recv_timeout(pause) {
                Ok(order) => {
                    if self.orders(order).is_break() {
                        break;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.memory.flush();
        self.show();
        self.reporting.end();
    }

    /// Lets time go on, and does what is to be done; how long nothing is.
    fn turn(&mut self) -> Duration {
        let now_s = now_s();
        let mut out = Vec::new();
        self.memory.engine.handle_timeout(now_s, &mut out);
        self.memory.put(out);
        if self.memory.flush() {
            for record in self.memory.delivery.handle_timeout(now_s) {
                self.memory.put(record);
            }
        }
        if !self.memory.flush() {
            return AGAIN;
        }
        while let Some(send) = self.memory.delivery.poll_send() {
            self.sender.send(send);
        }
        self.reporting.turn(&mut self.memory, &self.rules, now_s);
        let (engine, delivery) = (self.memory.engine.poll_timeout(), self.memory.delivery.poll_timeout());
        let reports = self.reporting.poll_timeout(&self.memory, &self.rules);
        let next = [engine, delivery, reports].into_iter().flatten().min();
        let wait_s = next.map_or(PAUSE_MAX.as_secs(), |next| u64::try_from(next - now_s).unwrap_or_default());
        Duration::from_secs(wait_s.max(u64::from(next.is_none_or(|next| next > now_s)))).min(PAUSE_MAX)
    }

    /// Takes an order, and those that wait behind it.
    fn orders(&mut self, first: Order) -> core::ops::ControlFlow<()> {
        let mut next = Some(first);
        for _ in 0..ORDERS_TOGETHER {
            let Some(order) = next.take().or_else(|| self.taken.try_recv().ok()) else { break };
            let mut out = Vec::new();
            match order {
                Order::Stop => return core::ops::ControlFlow::Break(()),
                Order::See(seen) => {
                    self.shared.waiting.fetch_sub(seen.len(), Ordering::AcqRel);
                    seen.iter().for_each(|seen| see(&mut self.memory.engine, seen, &mut out));
                    self.values_came |= self.memory.engine.is_any_bad();
                }
                Order::Forget { rule, subject } => self.memory.engine.forget(&rule, &subject, now_s(), &mut out),
                Order::Parents { device, parents } => {
                    let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
                    self.memory.engine.set_parents(&device, &parents);
                }
                Order::Doubted(doubted) => self.memory.engine.set_doubted(doubted),
                Order::Maintained(devices) => self.memory.engine.set_maintained(devices),
                Order::Silence(silence, reply) => {
                    let taken = self.memory.engine.silence(&silence);
                    let entry = taken.then_some(Entry::Silenced(silence));
                    self.operated(entry, &reply);
                }
                Order::Unsilence(over, reply) => {
                    let removed = self.memory.engine.unsilence(&over.id);
                    self.operated(removed.then_some(Entry::Unsilenced(over)), &reply);
                }
                Order::Rules(rules, reply) => {
                    let changed = self.go_on_by(*rules);
                    let _gone = reply.send(changed);
                }
                Order::Test { channel, reply } => {
                    self.count += 1;
                    let message = Message::test(&channel, now_s(), self.count);
                    self.tests.insert(message.id.clone(), reply);
                    out.push(Entry::Message(message));
                }
                Order::Followed { rule, after, limit, reply } => {
                    let _gone = reply.send(self.memory.engine.followed(&rule, &after, limit));
                }
                Order::Acknowledge { incident, who } => {
                    out.push(Entry::Acknowledged(Acknowledged { incident, who, at_s: now_s() }));
                }
                Order::Came { message, came } => {
                    let came = self.tested(&message, came);
                    log::tell(&message, &came);
                    out.push(self.memory.delivery.outcome(&message, came, now_s()));
                    self.reporting.is_any_over = true;
                }
                Order::Devices(up) => {
                    let (outages, now_s) = (&mut self.memory.books.outages, now_s());
                    out.extend(outages.see(&up, now_s).into_iter().map(Entry::Devices));
                    outages.look(now_s);
                }
                Order::Availability { devices, span, limit, reply } => {
                    let _gone = reply.send(self.memory.books.outages.figures(&devices, span, limit));
                }
                Order::Made { report, at_s, came } => {
                    out.extend(self.reporting.made(&mut self.memory, &self.rules, (&report, at_s), came));
                }
                Order::Send { report, at_s, made, reply } => {
                    let sent = self.reporting.send(&mut self.memory, &self.rules, (&report, at_s), made);
                    let _gone = reply.send(sent);
                }
                Order::Ready => {}
                Order::History(history) => self.memory.keep_history(history),
                Order::ForgetNumber(number, write, reply) => {
                    let _gone = reply.send(self.forget_number(&number, write));
                }
            }
            self.memory.put(out);
        }
        core::ops::ControlFlow::Continue(())
    }

    /// What waits is written by the rules that it came of; then the new ones hold.
    fn go_on_by(&mut self, rules: Rules) -> Result<(), Fault> {
        let sender = sender(&rules, &self.reporting.maker.shelf, &self.back)?;
        // What it has begun is in doubt from now on.
        drop(core::mem::replace(&mut self.sender, sender));
        self.rules = Arc::new(rules);
        self.memory.go_on_by(&self.rules, now_s());
        *self.shown.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&self.rules);
        Ok(())
    }

    /// What somebody has ordered is on disk before it is answered.
    fn operated(&mut self, entry: Option<Entry>, reply: &SyncSender<bool>) {
        let done = entry.is_some_and(|entry| {
            self.memory.put(vec![entry]);
            self.memory.flush()
        });
        // Who asked may have gone.
        let _gone = reply.send(done);
    }

    /// A message that tries out a channel is not sent again: who waits for it is told.
    fn tested(&mut self, message: &str, came: Outcomes) -> Outcomes {
        let Some(reply) = self.tests.remove(message) else { return came };
        let came = match came {
            Outcomes::Failed(why) => Outcomes::GivenUp(why),
            Outcomes::InDoubt(why) => Outcomes::LeftInDoubt(why),
            came => came,
        };
        let _gone = reply.send(came.clone());
        came
    }

    fn show(&mut self) {
        let memory = &mut self.memory;
        let mut view = self.shared.view.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = core::mem::take(&mut memory.changed);
        let is_shown_again = self.standings_shown.is_none_or(|shown| shown.elapsed() >= VALUES_EVERY);
        if changed || self.values_came && is_shown_again {
            let standings = self.rules.rules.keys().flat_map(|rule| memory.engine.standing(rule));
            view.standings = standings.take(View::STANDINGS_MAX).collect();
            (self.values_came, self.standings_shown) = (false, Some(Instant::now()));
        }
        if changed {
            view.revision += 1;
            view.past = memory.delivery.past().cloned().collect();
            view.history = memory.delivery.history();
            view.told = memory.delivery.told().cloned().collect();
            view.silences = memory.engine.silences().cloned().collect();
            view.reports = self.reporting.shown(memory, &self.rules);
            view.incidents = memory.delivery.incidents().take(View::STANDINGS_MAX).cloned().collect();
        }
        let watched = |rule: &String| (rule.clone(), memory.engine.watched(rule));
        view.watched = self.rules.rules.keys().map(watched).collect();
        view.waiting = memory.delivery.waiting();
        (view.engine, view.delivery) = (memory.engine.counts(), memory.delivery.counts());
        view.reported = self.reporting.counts;
        view.fault.clone_from(&memory.fault);
        self.shared.shown.notify_all();
    }
}

fn sender(rules: &Rules, shelf: &Shelf, back: &mpsc::Sender<Order>) -> Result<Sender, Fault> {
    let back = back.clone();
    Sender::start(rules, shelf, move |message, came| {
        // Nobody asks any more where the thread has ended.
        let _ = back.send(Order::Came { message, came });
    })
}

fn see(engine: &mut Engine, seen: &Seen, out: &mut Vec<Entry>) {
    let fields: Vec<(&str, &str)> = seen.fields.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let Seen { rule, subject, device, at_s, value, samples, .. } = seen;
    let (at_s, value, samples) = (*at_s, *value, *samples);
    engine.observe(&Observation { rule, subject, device, fields: &fields, at_s, value, samples }, out);
}

fn now_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
