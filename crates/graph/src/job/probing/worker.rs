//! The thread that runs programs and asks for pages, and reads what they say.

use super::page;
use crate::poller::Unknown;
use crate::probe::output::{Ended, OUTPUT_OCTETS_MAX};
use crate::probe::{Order, Outcome, Reads};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, JoinSet, LocalSet};
use trunkline_kit::program::{self, Fault, Program};
use trunkline_kit::tls;

/// The way to the thread and back. What is on it is bounded by the prober, which gives no more orders than its limits.
pub(super) struct Worker {
    orders: Option<UnboundedSender<Order>>,
    told: Receiver<(u64, Outcome)>,
    bell: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

/// What came of an order.
type Told = (u64, Outcome);

impl Worker {
    pub(super) fn start(issuers: Option<&[u8]>) -> io::Result<Worker> {
        let tls = tls::client(issuers).map_err(io::Error::other)?;
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (orders, taken) = unbounded_channel();
        let (tell, told) = channel();
        let rings = Arc::clone(&bell);
        let run = move || LocalSet::new().block_on(&runtime, serve(taken, tell, rings, tls));
        let thread = std::thread::Builder::new().name("graph-probe".to_owned()).spawn(run)?;
        Ok(Worker { orders: Some(orders), told, bell, thread: Some(thread) })
    }

    /// What can be read of when something has come.
    pub(super) fn bell(&self) -> &OwnedFd {
        &self.bell
    }

    pub(super) fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // Where the thread has ended, the prober gives up in time.
            let _ended = orders.send(order);
        }
    }

    /// What has come of orders.
    pub(super) fn told(&self) -> Vec<Told> {
        // Nothing rings while nothing has come: a bell that is silent already does no harm.
        let _silent = rustix::io::read(&*self.bell, &mut [0; 8]);
        self.told.try_iter().collect()
    }
}

/// Programs that run then end with the thread.
impl Drop for Worker {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

async fn serve(
    mut orders: UnboundedReceiver<Order>,
    tell: Sender<Told>,
    bell: Arc<OwnedFd>,
    tls: Arc<rustls::ClientConfig>,
) {
    let mut tasks: JoinSet<Told> = JoinSet::new();
    let mut handles: HashMap<u64, AbortHandle> = HashMap::new();
    loop {
        tokio::select! {
            order = orders.recv() => match order {
                None => return,
                Some(Order::Cancel { ticket }) => {
                    if let Some(handle) = handles.remove(&ticket) {
                        handle.abort();
                    }
                }
                Some(Order::Run { ticket, command, timeout, reads }) => {
                    let task = async move { (ticket, run(command, timeout, &reads).await) };
                    handles.insert(ticket, tasks.spawn_local(task));
                }
                Some(Order::Fetch { ticket, kind, url, timeout, reads }) => {
                    let tls = Arc::clone(&tls);
                    let task = async move { (ticket, page::fetch(&tls, kind, &url, timeout, &reads).await) };
                    handles.insert(ticket, tasks.spawn_local(task));
                }
                Some(Order::Echo { .. } | Order::Connect { .. } | Order::Ask { .. } | Order::Own { .. }) => {}
            },
            Some(Ok(told)) = tasks.join_next() => {
                handles.remove(&told.0);
                // Who asked may have gone, then this thread is told so, too.
                let _gone = tell.send(told);
                let _full = rustix::io::write(&*bell, &1u64.to_ne_bytes());
            }
        }
    }
}

/// Runs a program.
async fn run(words: Vec<String>, time: Duration, reads: &Reads) -> Outcome {
    let Reads::Names(wanted) = reads else { return Outcome::Impossible("a program has no metrics".to_owned()) };
    let begun = Instant::now();
    // Numbers are written with points, whatever the language here is.
    let environment = vec![("LC_ALL", "C".to_owned())];
    let program = Program { words, environment, time, octets_max: OUTPUT_OCTETS_MAX, ends_beyond: true };
    let name = program.words.first().map_or("", String::as_str);
    let (reason, why) = match program::run(&program).await {
        Ok(ended) => {
            let took_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let program::Ended { status, output, errors } = ended;
            return Ended { code: status.code(), took_ns, output, errors }.outcome(wanted);
        }
        Err(fault @ Fault::Start(_)) => return Outcome::Impossible(format!("{name}: {fault}")),
        Err(fault @ Fault::Output(_)) => (Unknown::Malformed, fault),
        Err(fault @ (Fault::Time(_) | Fault::Lost(_))) => (Unknown::Timeout, fault),
    };
    let readings = vec![crate::poller::Reading::Unknown(reason); wanted.len()];
    Outcome::Said { readings, started: None, fault: Some(format!("{name} {why}")) }
}
