//! The thread of a leader: what decides ([`Publisher`]) meets the connection and the clock.

use crate::connection::{Connection, Dial, Reply};
use crate::jetstream::{ANSWER_WITHIN, Failed, Published};
use crate::options::Options;
use crate::publisher::{Publisher, Standing};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How long it waits after a failure.
const AGAIN: Duration = Duration::from_millis(50);
/// Octets that leave a connection before more are put.
const OUTPUT_OCTETS_MAX: usize = 4 << 20;

trunkline_kit::counters! {
    /// What a leader has done.
    pub struct Counts {
        /// messages that were published to the stream, those again that were published again
        published: "trunkline_replica_published_total",
        /// messages that the stream has acknowledged
        acknowledged: "trunkline_replica_acknowledged_total",
        /// messages that the stream did not take, or not at their place: it was read what stands there
        refused: "trunkline_replica_refused_total",
        /// connections to the servers that were lost
        lost: "trunkline_replica_connections_lost_total",
    }
}

/// What the thread tells.
#[derive(Debug)]
pub enum Progress<'a> {
    /// All records up to this one are acknowledged.
    Acknowledged(u64),
    /// The stream is away, and it is tried again: why.
    Away(&'a str),
    /// It has handed over.
    Yielded,
    /// It leads no longer: why. Nothing more of it will be acknowledged.
    Fenced(&'a str),
}

enum Order {
    Records(Vec<u8>, Vec<usize>),
    HandOver,
}

#[derive(Debug)]
struct Shared {
    begun: Instant,
    acknowledged: AtomicU64,
    /// Octets of orders that were not taken yet, and of messages that are not acknowledged.
    ordered_octets: AtomicUsize,
    queued_octets: AtomicUsize,
    /// When the newest message that is acknowledged was published, milliseconds.
    heard_ms: AtomicU64,
    lease: Duration,
    counts: [AtomicU64; 4],
}

impl Shared {
    fn ms(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.begun).as_millis()).unwrap_or(u64::MAX)
    }
}

/// The handle of a leader. Dropped, it says nothing more.
#[derive(Debug)]
pub struct Leader {
    orders: Option<UnboundedSender<Order>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What a leader begins with.
pub(crate) struct Reign {
    pub dial: Dial,
    pub options: Options,
    pub next_server: usize,
    pub publisher: Publisher,
    /// The term.
    pub term: u64,
    pub connection: Option<Connection>,
    /// When it asked to lead.
    pub asked: Instant,
}

impl Leader {
    pub(crate) fn start(
        runtime: Runtime,
        reign: Reign,
        tell: impl FnMut(Progress<'_>) + Send + 'static,
    ) -> std::io::Result<Leader> {
        let shared = Arc::new(Shared {
            begun: reign.asked,
            acknowledged: AtomicU64::new(reign.publisher.acknowledged()),
            ordered_octets: AtomicUsize::new(0),
            queued_octets: AtomicUsize::new(0),
            heard_ms: AtomicU64::new(0),
            lease: reign.options.lease(),
            counts: Default::default(),
        });
        let (sender, orders) = unbounded_channel();
        let seat = Arc::clone(&shared);
        let runs = move || {
            let task = Task { reign, shared: seat, tell, sent: VecDeque::new(), said: String::new() };
            runtime.block_on(task.run(orders));
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("replica".to_owned()).spawn(runs)?;
        Ok(Leader { orders: Some(sender), shared, thread: Some(thread) })
    }

    /// Publishes the next records. What waits has to be bounded by who appends: [`Leader::waiting_octets`].
    pub fn append<'a>(&self, records: impl Iterator<Item = &'a [u8]>) {
        let (mut octets, mut ends) = (Vec::new(), Vec::new());
        for record in records {
            octets.extend_from_slice(record);
            ends.push(octets.len());
        }
        self.shared.ordered_octets.fetch_add(octets.len(), Ordering::Relaxed);
        self.order(Order::Records(octets, ends));
    }

    /// Hands over behind all that was appended.
    pub fn hand_over(&self) {
        self.order(Order::HandOver);
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // A thread that has ended has told why.
            let _ = orders.send(order);
        }
    }

    /// The last record that is acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.shared.acknowledged.load(Ordering::Acquire)
    }

    /// Octets that wait to be acknowledged.
    pub fn waiting_octets(&self) -> usize {
        let Shared { ordered_octets, queued_octets, .. } = &*self.shared;
        ordered_octets.load(Ordering::Relaxed) + queued_octets.load(Ordering::Relaxed)
    }

    /// Whether the stream has taken something of this node so lately that nobody else can lead yet.
    pub fn is_current(&self) -> bool {
        let heard = self.shared.begun + Duration::from_millis(self.shared.heard_ms.load(Ordering::Acquire));
        heard.elapsed() < self.shared.lease
    }

    /// What it has done.
    pub fn counts(&self) -> Counts {
        let [published, acknowledged, refused, lost] =
            [0, 1, 2, 3].map(|at: usize| self.shared.counts[at].load(Ordering::Relaxed));
        Counts { published, acknowledged, refused, lost }
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        drop(self.orders.take());
        // A panic of it was told when it happened.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

struct Task<T: FnMut(Progress<'_>)> {
    reign: Reign,
    shared: Arc<Shared>,
    tell: T,
    /// Numbers of the requests that are on their way, and when they were put.
    sent: VecDeque<(u64, Instant)>,
    /// The trouble that was told last.
    said: String,
}

/// Nobody is to lead by a thread that has failed.
impl<T: FnMut(Progress<'_>)> Drop for Task<T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.tell)(Progress::Fenced("the thread that publishes has failed"));
        }
    }
}

/// How a while with a connection ended.
enum Ended {
    /// For good.
    Over,
    /// The connection is of no use.
    Lost(String),
}

const PUBLISHED: usize = 0;
const ACKNOWLEDGED: usize = 1;
const REFUSED: usize = 2;
const LOST: usize = 3;

impl<T: FnMut(Progress<'_>)> Task<T> {
    async fn run(mut self, mut orders: UnboundedReceiver<Order>) {
        loop {
            let mut connection = match self.reign.connection.take() {
                Some(connection) => connection,
                None => match self.connect(&mut orders).await {
                    Some(connection) => connection,
                    None => return,
                },
            };
            match self.serve(&mut connection, &mut orders).await {
                Ended::Over => return,
                Ended::Lost(why) => {
                    self.reign.publisher.unsure();
                    self.reign.next_server += 1;
                    self.count(LOST, 1);
                    self.trouble(&why);
                }
            }
        }
    }

    fn count(&self, what: usize, by: u64) {
        self.shared.counts[what].fetch_add(by, Ordering::Relaxed);
    }

    fn trouble(&mut self, why: &str) {
        if self.said != why {
            why.clone_into(&mut self.said);
            (self.tell)(Progress::Away(why));
        }
    }

    /// A connection, however long it takes; none if nobody wants it any more.
    async fn connect(&mut self, orders: &mut UnboundedReceiver<Order>) -> Option<Connection> {
        loop {
            let servers = &self.reign.options.servers;
            let server = &servers[self.reign.next_server % servers.len().max(1)];
            match self.reign.dial.open(server).await {
                Ok(connection) => return Some(connection),
                Err(why) => self.trouble(&why),
            }
            self.reign.next_server += 1;
            tokio::time::sleep(AGAIN).await;
            if !self.take_orders(orders) {
                return None;
            }
        }
    }

    /// Takes what is ordered; whether anybody still may order.
    fn take_orders(&mut self, orders: &mut UnboundedReceiver<Order>) -> bool {
        loop {
            match orders.try_recv() {
                Ok(order) => self.take(order),
                Err(empty) => return empty == tokio::sync::mpsc::error::TryRecvError::Empty,
            }
        }
    }

    fn take(&mut self, order: Order) {
        match order {
            Order::Records(octets, ends) => {
                let begins = core::iter::once(0).chain(ends.iter().copied());
                self.reign.publisher.append(begins.zip(&ends).map(|(begin, end)| &octets[begin..*end]));
                self.count_queued();
                self.shared.ordered_octets.fetch_sub(octets.len(), Ordering::Relaxed);
            }
            Order::HandOver => self.reign.publisher.hand_over(),
        }
    }

    fn count_queued(&self) {
        self.shared.queued_octets.store(self.reign.publisher.waiting_octets(), Ordering::Relaxed);
    }

    async fn serve(&mut self, connection: &mut Connection, orders: &mut UnboundedReceiver<Order>) -> Ended {
        self.sent.clear();
        let beat = self.reign.options.beat();
        let mut beats = tokio::time::interval(beat);
        beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            if self.reign.publisher.standing() == &Standing::Unsure
                && let Err(Failed::Away(why) | Failed::Refused(why)) = self.look(connection).await
            {
                return Ended::Lost(why);
            }
            if self.tell_standing() {
                return Ended::Over;
            }
            self.publish(connection);
            let late = self.sent.front().map(|(_, at)| *at + ANSWER_WITHIN);
            let late = tokio::time::sleep_until(late.unwrap_or_else(|| Instant::now() + ANSWER_WITHIN).into());
            tokio::select! {
                turn = connection.turn() => match turn {
                    Ok(turn) => turn.replies.iter().for_each(|reply| self.reply(reply)),
                    Err(why) => return Ended::Lost(why),
                },
                order = orders.recv() => match order {
                    Some(order) => {
                        self.take(order);
                        self.take_orders(orders);
                    }
                    None => return Ended::Over,
                },
                _ = beats.tick() => self.reign.publisher.beat(),
                () = late, if !self.sent.is_empty() => {
                    return Ended::Lost("what was published is not acknowledged in time".to_owned());
                }
            }
        }
    }

    fn publish(&mut self, connection: &mut Connection) {
        while connection.waiting() < OUTPUT_OCTETS_MAX {
            let Some(message) = self.reign.publisher.poll() else { return };
            let number = connection.publish(&self.reign.options, self.reign.term, &message);
            self.sent.push_back((number, Instant::now()));
            self.count(PUBLISHED, 1);
        }
    }

    /// An answer to what was published.
    fn reply(&mut self, reply: &Reply) {
        let Some(at) = self.sent.iter().position(|(number, _)| *number == reply.number) else { return };
        let Some((_, put)) = self.sent.drain(..=at).next_back() else { return };
        match Published::of(reply) {
            Published::At(place) => {
                self.said.clear();
                self.reign.publisher.acked(place);
                self.count(ACKNOWLEDGED, 1);
                self.shared.heard_ms.fetch_max(self.shared.ms(put), Ordering::AcqRel);
                self.progress();
            }
            Published::Elsewhere(end) => {
                self.count(REFUSED, 1);
                self.unsure(end);
            }
            Published::NotNow(why) => {
                self.count(REFUSED, 1);
                self.trouble(&why);
                self.unsure(None);
            }
        }
    }

    fn unsure(&mut self, end: Option<u64>) {
        match end.filter(|end| *end < self.reign.publisher.place()) {
            Some(end) => self.reign.publisher.lost(end),
            None => self.reign.publisher.unsure(),
        }
    }

    /// Reads what stands behind the last message that is known.
    async fn look(&mut self, connection: &mut Connection) -> Result<(), Failed> {
        self.sent.clear();
        tokio::time::sleep(AGAIN).await;
        while self.reign.publisher.standing() == &Standing::Unsure {
            let place = self.reign.publisher.place() + 1;
            match connection.at(&self.reign.options.stream, place).await? {
                Some(octets) => self.reign.publisher.found(&octets),
                None => self.reign.publisher.found_end(),
            }
            self.progress();
        }
        Ok(())
    }

    fn progress(&mut self) {
        let acknowledged = self.reign.publisher.acknowledged();
        self.count_queued();
        if self.shared.acknowledged.swap(acknowledged, Ordering::AcqRel) < acknowledged {
            (self.tell)(Progress::Acknowledged(acknowledged));
        }
    }

    /// Tells of its end, if that has come.
    fn tell_standing(&mut self) -> bool {
        match self.reign.publisher.standing() {
            Standing::Yielded => (self.tell)(Progress::Yielded),
            Standing::Fenced(why) => (self.tell)(Progress::Fenced(why)),
            Standing::Leads | Standing::Unsure => return false,
        }
        true
    }
}
