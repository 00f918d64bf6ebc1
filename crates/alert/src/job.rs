//! The job: one thread that has the rules, the states and the log; one that tells people, through all channels.
//!
//! Who watches (the poller, whoever measures rows) hands over what was seen and goes on: the queue is bounded, and what
//! does not fit is refused and counted. Nothing is sent that is not on disk before.

mod command;
mod log;
mod mail;
mod sender;
mod syslog;
mod webhook;
mod wire;

use crate::counts::{DeliveryCounts, EngineCounts};
use crate::delivery::{Acknowledged, Incident, Outcomes};
use crate::engine::{Engine, Observation, Standing};
use crate::entry::Entry;
use crate::rule::Rules;
use log::Memory;
use sender::Sender;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use trunkline_kit::metrics::Sample;

pub use log::Fault;

/// Observations that wait for the thread; more are refused.
pub const OBSERVATIONS_WAITING_MAX: usize = 100_000;
/// Orders that are taken together before anything else is looked at.
const ORDERS_TOGETHER: usize = 1024;
/// How long the thread waits at most.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// How long a log that could not be written is left.
const AGAIN: Duration = Duration::from_secs(1);

/// An observation with memory of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// The rule.
    pub rule: String,
    /// The subject.
    pub subject: String,
    /// Its device; empty if it has none.
    pub device: String,
    /// What else is known of it.
    pub fields: Vec<(String, String)>,
    /// Seconds since 1970.
    pub at_s: i64,
    /// The value.
    pub value: Option<f64>,
    /// Samples that it is made of.
    pub samples: u64,
}

/// An observation that was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Too many wait.
    #[error("too many observations wait for the rules")]
    Waiting,
    /// The job has ended.
    #[error("the job of alerts has ended")]
    Ended,
}

/// What the thread is asked.
enum Order {
    See(Vec<Seen>),
    Forget { rule: String, subject: String },
    Parents { device: String, parents: Vec<String> },
    Acknowledge { incident: String, who: String },
    Came { message: String, came: Outcomes },
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
    /// Messages that wait.
    pub waiting: usize,
    /// What rules counted.
    pub engine: EngineCounts,
    /// What delivery counted.
    pub delivery: DeliveryCounts,
    /// Why the log cannot be written, if it cannot: nothing is told meanwhile.
    pub fault: Option<String>,
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
    thread: Option<JoinHandle<()>>,
}

impl Alerts {
    /// Opens the log in a folder and goes on where it ended.
    ///
    /// # Errors
    /// [`Fault`]: the log cannot be opened, a channel's files cannot be read, a thread cannot be started.
    pub fn start(folder: &Path, rules: Rules) -> Result<Alerts, Fault> {
        let (orders, taken) = mpsc::channel();
        let back = orders.clone();
        let sender = Sender::start(&rules, move |message, came| {
            // Nobody asks any more where the thread has ended.
            let _ = back.send(Order::Came { message, came });
        })?;
        let rules = Arc::new(rules);
        let memory = Memory::open(folder, &rules, now_s())?;
        let shared = Arc::new(Shared::default());
        let mut turning = Turning { memory, sender, taken, shared: Arc::clone(&shared), rules };
        turning.show();
        let thread = std::thread::Builder::new().name("alert".to_owned()).spawn(move || turning.run());
        Ok(Alerts { orders, shared, thread: Some(thread.map_err(Fault::Thread)?) })
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

    /// Through which devices a device is reached.
    pub fn set_parents(&self, device: &str, parents: Vec<String>) {
        let _ended = self.orders.send(Order::Parents { device: device.to_owned(), parents });
    }

    /// Somebody takes care of an alert: it is not escalated any more.
    pub fn acknowledge(&self, incident: &str, who: &str) {
        let _ended = self.orders.send(Order::Acknowledge { incident: incident.to_owned(), who: who.to_owned() });
    }

    /// How things stand.
    pub fn view(&self) -> View {
        self.shared.view.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
        let counted = [view.engine.list(), view.delivery.list()].concat();
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
    taken: Receiver<Order>,
    shared: Arc<Shared>,
    rules: Arc<Rules>,
}

impl Turning {
    fn run(mut self) {
        loop {
            let pause = self.turn();
            self.show();
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
        let next = [self.memory.engine.poll_timeout(), self.memory.delivery.poll_timeout()].into_iter().flatten().min();
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
                }
                Order::Forget { rule, subject } => self.memory.engine.forget(&rule, &subject, now_s(), &mut out),
                Order::Parents { device, parents } => {
                    let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
                    self.memory.engine.set_parents(&device, &parents);
                }
                Order::Acknowledge { incident, who } => {
                    out.push(Entry::Acknowledged(Acknowledged { incident, who, at_s: now_s() }));
                }
                Order::Came { message, came } => {
                    log::tell(&message, &came);
                    out.push(self.memory.delivery.outcome(&message, came, now_s()));
                }
            }
            self.memory.put(out);
        }
        core::ops::ControlFlow::Continue(())
    }

    fn show(&mut self) {
        let memory = &mut self.memory;
        let mut view = self.shared.view.lock().unwrap_or_else(PoisonError::into_inner);
        if core::mem::take(&mut memory.changed) {
            let standings = self.rules.rules.keys().flat_map(|rule| memory.engine.standing(rule));
            view.standings = standings.take(View::STANDINGS_MAX).collect();
            view.incidents = memory.delivery.incidents().take(View::STANDINGS_MAX).cloned().collect();
        }
        view.waiting = memory.delivery.waiting();
        (view.engine, view.delivery) = (memory.engine.counts(), memory.delivery.counts());
        view.fault.clone_from(&memory.fault);
        self.shared.shown.notify_all();
    }
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
