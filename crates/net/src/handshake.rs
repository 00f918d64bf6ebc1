//! Handshakes of TLS, away from the threads that serve: signing takes a thousand times as long as a request.
//!
//! A thread has many handshakes going, so that one that waits for its client holds up nobody; a connection that is
//! through goes to the serving thread with the fewest.

use core::time::Duration;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::net::{RecvFlags, SendFlags};
use rustls::Error;

use crate::connection::{Newcomer, Table};
use crate::counts::{Counts, Shown};
use crate::events::{Events, Source, Sources};
use crate::service::ConnectionId;
use crate::shared::Shared;
use crate::tls::Secured;

/// How often handshakes that take too long are looked for.
const SWEEP: Duration = Duration::from_millis(200);
/// How long a thread waits that has nothing to do.
const REST: Duration = Duration::from_secs(3600);

pub(crate) struct Handshaker<M> {
    /// Which of the threads for handshakes it is.
    number: usize,
    events: Events,
    table: Table<Going>,
    shared: Arc<Shared<M>>,
    counts: Counts,
    swept: Duration,
}

/// A handshake that is going on.
struct Going {
    newcomer: Newcomer,
    tls: Box<Secured>,
    began: Duration,
}

/// How far one has come.
#[derive(Debug)]
pub(crate) enum Step {
    Waits,
    Done,
    /// With what TLS says was wrong; nothing if the peer has ended.
    Failed(Option<Error>),
}

impl<M> Handshaker<M> {
    /// `sources` has the bell of its inbox already.
    pub(crate) fn new(number: usize, sources: Sources, shared: Arc<Shared<M>>) -> Handshaker<M> {
        let (table, counts) = (Table::new(0), Counts::default());
        Handshaker { number, events: Events::of(sources), table, shared, counts, swept: Duration::ZERO }
    }

    /// Until the server is stopped; handshakes that go on then are given up.
    pub(crate) fn run(mut self) {
        while !self.shared.is_stopping() {
            let came = self.events.wait(if self.table.len() == 0 { REST } else { SWEEP });
            for at in 0..came {
                match self.events.get(at) {
                    Some((Source::Bell, _)) => self.take_in(),
                    Some((Source::Stream(slot, generation), _)) => {
                        self.step(ConnectionId { thread: 0, slot, generation });
                    }
                    _ => {}
                }
            }
            self.sweep();
            self.show();
        }
    }

    fn take_in(&mut self) {
        for mut newcomer in self.shared.pool.take(self.number) {
            let Some(tls) = newcomer.tls.take() else { continue };
            let id = self.table.next_id();
            if self.events.sources().add_stream(&newcomer.stream, Source::stream(id)).is_err() {
                self.counts.refused_system += 1;
                continue;
            }
            let began = self.shared.clock.now().monotonic;
            self.table.insert(Going { newcomer, tls, began });
        }
    }

    fn step(&mut self, id: ConnectionId) {
        let Some(going) = self.table.get_mut(id) else { return };
        match step(&mut going.tls, &going.newcomer.stream) {
            Step::Waits => {}
            Step::Failed(_) => {
                self.counts.closed_handshake += 1;
                self.table.remove(id);
            }
            Step::Done => {
                if let Some(going) = self.table.remove(id) {
                    self.hand_over(going);
                }
            }
        }
    }

    fn hand_over(&mut self, going: Going) {
        let Going { mut newcomer, tls, .. } = going;
        self.events.sources().remove(&newcomer.stream);
        self.counts.handshakes += 1;
        newcomer.tls = Some(tls);
        newcomer.permit.end_handshake();
        let thread = self.shared.gate.least(newcomer.permit.thread());
        if self.shared.bring(newcomer, thread).is_err() {
            self.counts.closed_stopped += 1;
        }
    }

    fn sweep(&mut self) {
        let now = self.shared.clock.now().monotonic;
        if now < self.swept + SWEEP {
            return;
        }
        self.swept = now;
        let most = self.shared.options.limits.handshake;
        for id in self.table.find(|going| now >= going.began + most) {
            self.table.remove(id);
            self.counts.closed_handshake_late += 1;
        }
    }

    fn show(&self) {
        let shown =
            Shown { counts: self.counts, held_octets: 0, tls_connections: self.table.len(), ..Shown::default() };
        self.shared.cells[self.shared.options.threads + self.number].show(shown);
    }
}

impl<M> Drop for Handshaker<M> {
    fn drop(&mut self) {
        let waiting = self.shared.pool.close(self.number).len();
        self.counts.closed_stopped += (waiting + self.table.len()) as u64;
        self.table = Table::new(0);
        self.show();
    }
}

/// Goes on until the socket has nothing more and takes nothing more, or the handshake is over.
pub(crate) fn step(tls: &mut Secured, stream: &OwnedFd) -> Step {
    let wire = &mut Wire(stream);
    loop {
        match send(tls, wire) {
            Ok(true) if !tls.is_handshaking() => return Step::Done,
            Ok(_) => {}
            Err(_) => return Step::Failed(None),
        }
        match tls.read_tls(wire) {
            Ok(0) => return Step::Failed(None),
            Ok(_) => {
                if let Err(wrong) = tls.process_new_packets() {
                    // The peer is told what was wrong with what it sent, if it takes it now.
                    let _ = send(tls, wire);
                    return Step::Failed(Some(wrong));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Step::Waits,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Step::Failed(None),
        }
    }
}

/// Sends what there is; whether all of it went.
fn send(tls: &mut Secured, wire: &mut Wire<'_>) -> io::Result<bool> {
    while tls.wants_write() {
        match tls.write_tls(wire) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// A socket that does not wait.
struct Wire<'a>(&'a OwnedFd);

impl Read for Wire<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::net::recv(self.0, buffer, RecvFlags::empty())?.1)
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(self.0, octets, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
