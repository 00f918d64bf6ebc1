//! A prober with sockets, programs and pages. The caller's thread sends echo requests and tries ports; one thread of
//! its own runs programs and asks for pages, and reads what they say.

mod icmp;
mod page;
mod ports;
mod worker;

pub use icmp::{EchoRight, EchoSockets};

use crate::poller::{Now, Sample};
use crate::probe::{Event, Limits, Order, Outcome, Prober, Reads, Standing, Target, TargetError, prometheus};
use ports::Ports;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use worker::Worker;

/// What the wait tells of; numbers of orders begin behind them.
const ECHO_V4: u64 = 0;
const ECHO_V6: u64 = 1;
const WORKER: u64 = 2;
const TICKETS: u64 = 16;
/// What is told of at once.
const EVENTS_AT_ONCE: usize = 512;

/// Gives the program's own metrics, in Prometheus's text format.
pub type OwnMetrics = Arc<dyn Fn() -> String + Send + Sync>;

/// How a prober is given sockets and a thread.
#[derive(Clone, Default)]
pub struct ProbingOptions {
    /// How much is on its way at once.
    pub limits: Limits,
    /// Who vouches for servers of pages (PEM); none is whoever the system trusts.
    pub issuers: Option<Vec<u8>>,
    /// The program's own metrics; without them a data source that reads them says that there are none.
    pub own: Option<OwnMetrics>,
    /// What makes the numbers in echo requests unforeseeable: by chance.
    pub seed: u64,
}

/// Probes devices. It belongs to one thread.
pub struct Probing {
    prober: Prober,
    waits: OwnedFd,
    echoes: EchoSockets,
    ports: Ports,
    worker: Worker,
    own: Option<OwnMetrics>,
    started: Instant,
}

impl Probing {
    /// Opens the sockets for echo requests, as far as there is the right to ([`Probing::rights`]), and starts the
    /// thread: before privileges are given up.
    ///
    /// # Errors
    /// The system's; or what is wrong with the issuers.
    pub fn new(options: ProbingOptions) -> io::Result<Probing> {
        Probing::with(options, EchoSockets::open())
    }

    /// The same with sockets for echo requests that were opened before.
    ///
    /// # Errors
    /// As [`Probing::new`].
    pub fn with(options: ProbingOptions, echoes: EchoSockets) -> io::Result<Probing> {
        let waits = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (socket, number) in [(echoes.socket(true), ECHO_V4), (echoes.socket(false), ECHO_V6)] {
            if let Ok(socket) = socket {
                epoll::add(&waits, socket, epoll::EventData::new_u64(number), epoll::EventFlags::IN)?;
            }
        }
        let worker = Worker::start(options.issuers.as_deref())?;
        epoll::add(&waits, worker.bell(), epoll::EventData::new_u64(WORKER), epoll::EventFlags::IN)?;
        Ok(Probing {
            prober: Prober::new(&options.limits, options.seed),
            waits,
            echoes,
            ports: Ports::default(),
            worker,
            own: options.own,
            started: Instant::now(),
        })
    }

    /// How echo requests are sent over IPv4 and over IPv6.
    ///
    /// # Errors
    /// They cannot be sent: what has to be done for it, for people.
    pub fn rights(&self) -> [Result<EchoRight, &str>; 2] {
        self.echoes.rights()
    }

    /// Takes in a device, or one anew: [`Prober::add`].
    ///
    /// # Errors
    /// The description has a fault.
    pub fn add(&mut self, target: Target) -> Result<(), TargetError> {
        let now = self.now();
        self.prober.add(target, now)
    }

    /// Forgets a device; says whether it was there.
    pub fn remove(&mut self, id: u32) -> bool {
        self.prober.remove(id)
    }

    /// Whether a device answers SNMP, as the poller says.
    pub fn set_snmp(&mut self, id: u32, answers: bool) {
        self.prober.set_snmp(id, answers);
    }

    /// Tells soon whether a device answers: [`Prober::check_soon`].
    pub fn check_soon(&mut self, id: u32) {
        let now = self.now();
        self.prober.check_soon(id, now);
    }

    /// How a device is found at present; none if it is not there.
    pub fn standing(&self, id: u32) -> Option<Standing> {
        self.prober.standing(id)
    }

    /// Samples since [`Probing::clear`].
    pub fn samples(&self) -> impl Iterator<Item = Sample<'_>> {
        self.prober.samples()
    }

    /// What has happened since [`Probing::clear`].
    pub fn events(&self) -> &[Event] {
        self.prober.events()
    }

    /// Samples and events were taken.
    pub fn clear(&mut self) {
        self.prober.clear();
    }

    /// What is behind it: counts, what is on its way.
    pub fn prober(&self) -> &Prober {
        &self.prober
    }

    /// What time it is for the prober.
    pub fn now(&self) -> Now {
        let steady_ns = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Now { steady_ns, unix_ms: i64::try_from(since.as_millis()).unwrap_or(i64::MAX) }
    }

    /// Does what is due, waits until something comes or is due, at most so long, and does what follows.
    ///
    /// # Errors
    /// The system cannot wait.
    pub fn turn(&mut self, longest: Duration) -> io::Result<()> {
        self.due();
        let now_ns = self.now().steady_ns;
        let due_ns = self.prober.next_timeout_ns().map_or(u64::MAX, |due| due.saturating_sub(now_ns));
        let longest = longest.min(Duration::from_nanos(due_ns));
        let wait = Timespec::try_from(longest).map_err(io::Error::other)?;
        let mut ready: Vec<epoll::Event> = Vec::with_capacity(EVENTS_AT_ONCE);
        match epoll::wait(&self.waits, spare_capacity(&mut ready), Some(&wait)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        // What came together came now; the wait before it is over.
        let now = self.now();
        for event in ready {
            match event.data.u64() {
                ECHO_V4 => self.echoes_came(true, now),
                ECHO_V6 => self.echoes_came(false, now),
                WORKER => {
                    for (ticket, outcome) in self.worker.told() {
                        self.prober.handle(ticket, outcome, now);
                    }
                }
                number => {
                    let ticket = number - TICKETS;
                    if let Some(outcome) = self.ports.came(ticket) {
                        self.prober.handle(ticket, outcome, now);
                    }
                }
            }
        }
        self.due();
        Ok(())
    }

    fn echoes_came(&mut self, v4: bool, now: Now) {
        let prober = &mut self.prober;
        self.echoes.receive(v4, |from: IpAddr, octets| prober.handle_echo(from, octets, now));
    }

    /// Does what is due, and what it orders.
    fn due(&mut self) {
        let now = self.now();
        self.prober.handle_timeout(now);
        loop {
            let orders = self.prober.orders();
            if orders.is_empty() {
                return;
            }
            orders.into_iter().for_each(|order| self.serve(order));
        }
    }

    fn serve(&mut self, order: Order) {
        let (ticket, outcome) = match order {
            Order::Echo { to, sequence, token } => {
                if let Err(why) = self.echoes.send(to, sequence, token) {
                    let now = self.now();
                    self.prober.handle_unsent(sequence, token, &why, now);
                }
                return;
            }
            Order::Connect { ticket, to } => (ticket, self.ports.connect(&self.waits, ticket, to)),
            Order::Ask { ticket, to, request } => (ticket, self.ports.ask(&self.waits, ticket, to, &request)),
            Order::Own { ticket, reads } => (ticket, Some(self.own(&reads))),
            Order::Cancel { ticket } => {
                self.ports.forget(ticket);
                return self.worker.order(Order::Cancel { ticket });
            }
            order @ (Order::Run { .. } | Order::Fetch { .. }) => return self.worker.order(order),
        };
        if let Some(outcome) = outcome {
            let now = self.now();
            self.prober.handle(ticket, outcome, now);
        }
    }

    fn own(&self, reads: &Reads) -> Outcome {
        match (&self.own, reads) {
            (Some(own), Reads::Metrics(metrics)) => {
                let found = prometheus::read(own().as_bytes(), metrics);
                Outcome::Said { readings: found.readings, started: None, fault: None }
            }
            _ => Outcome::Impossible("the program's own metrics are not available".to_owned()),
        }
    }
}

/// The number that the wait tells of an order.
fn number_of(ticket: u64) -> epoll::EventData {
    epoll::EventData::new_u64(ticket + TICKETS)
}
