//! A serving thread: waits for events, and gives each of its connections and sockets a turn.

use core::time::Duration;
use std::sync::Arc;

use crate::clock::Clock;
use crate::connection::{Connection, Newcomer, Table, Wants};
use crate::counts::{Counts, Shown};
use crate::datagrams::Datagrams;
use crate::dialling::Dialling;
use crate::events::{Events, Source, Sources, What};
use crate::input::Input;
use crate::mailbox::Mailbox;
use crate::service::{Arrival, Cause, ConnectionId, Service};
use crate::shared::Shared;
use crate::sockets::{Door, Sockets};
use crate::stream;
use crate::turn::{Desk, Outcome};

/// How often a thread looks after what has a time: [`Service::tick`], idle connections, figures of the kernel.
const TICK: Duration = Duration::from_secs(1);
/// Mails handled in a round, before connections have their turn.
const MAILS_MAX: usize = 4096;

/// A thread with all that is its own.
pub(crate) struct Worker<S: Service> {
    pub(crate) number: u16,
    pub(crate) events: Events,
    pub(crate) doors: Vec<Door>,
    pub(crate) table: Table<Connection<S::Connection>>,
    pub(crate) desk: Desk<S>,
    pub(crate) shared: Arc<Shared<S::Mail>>,
    /// Doors are not among the events: there is no room, or no descriptor.
    pub(crate) paused: bool,
    pub(crate) dialling: Dialling<S::Connection>,
    datagrams: Datagrams,
    /// Connections that have another turn in this round, and the list before, to be used again.
    again: Vec<ConnectionId>,
    spare: Vec<ConnectionId>,
    mails: Vec<(Option<ConnectionId>, S::Mail)>,
    more_mail: bool,
    clock: Clock,
    next_tick: Duration,
    /// When connections that are not through are given up, once the server stops.
    pub(crate) stop_at: Option<Duration>,
    pub(crate) tls_connections: usize,
}

impl<S: Service> Worker<S> {
    /// Takes over what was opened for it. `sources` has them and the bell already.
    pub(crate) fn new(
        number: u16,
        service: S,
        sockets: Sockets,
        sources: Sources,
        shared: Arc<Shared<S::Mail>>,
        counts: Counts,
    ) -> Worker<S> {
        let options = &shared.options;
        let limits = options.limits.clone();
        let clock = shared.clock;
        let desk = Desk {
            service,
            held_most: limits.held_octets / options.threads,
            input: Input::of_thread(),
            output: Vec::new(),
            buffers: stream::Buffers::default(),
            counts,
            now: clock.now(),
            held: 0,
            limits,
        };
        Worker {
            number,
            events: Events::of(sources),
            doors: sockets.doors,
            table: Table::new(number),
            datagrams: Datagrams::new(sockets.udp, &desk.limits, options.udp_networks.clone()),
            next_tick: desk.now.monotonic + TICK,
            desk,
            paused: false,
            dialling: Dialling::new(options.limits.dialled_connections.div_ceil(options.threads)),
            again: Vec::new(),
            spare: Vec::new(),
            mails: Vec::new(),
            more_mail: true,
            clock,
            stop_at: None,
            tls_connections: 0,
            shared,
        }
    }

    /// Until the server is stopped and all is said.
    pub(crate) fn run(mut self) {
        while !self.is_done() {
            self.show();
            let patience = self.patience();
            if !patience.is_zero() {
                self.desk.service.rest();
            }
            let came = self.events.wait(patience);
            self.desk.now = self.clock.now();
            self.desk.counts.rounds += 1;
            self.round(came);
        }
    }

    /// How long to wait for events.
    fn patience(&self) -> Duration {
        if self.more_mail || !self.again.is_empty() {
            return Duration::ZERO;
        }
        let until = self.stop_at.map_or(self.next_tick, |at| at.min(self.next_tick));
        let until = self.dialling.next().map_or(until, |at| at.min(until));
        until.saturating_sub(self.desk.now.monotonic)
    }

    fn round(&mut self, came: usize) {
        // Those of the last round have their turn after those with events, and before they ask for another one.
        let waited = core::mem::replace(&mut self.again, core::mem::take(&mut self.spare));
        for at in 0..came {
            if let Some((source, what)) = self.events.get(at) {
                self.on_event(source, what);
            }
        }
        for id in &waited {
            if let Some(connection) = self.table.get_mut(*id) {
                connection.queued = false;
                self.serve(*id);
            }
        }
        self.spare = waited;
        self.spare.clear();
        if self.more_mail {
            self.take_mails();
        }
        if self.desk.now.monotonic >= self.next_tick {
            self.tick();
        }
        self.run_errands();
        if self.shared.is_stopping() {
            self.wind_up();
        }
    }

    fn on_event(&mut self, source: Source, what: What) {
        match source {
            Source::Bell => {
                self.more_mail = true;
                self.take_newcomers();
                self.open_doors();
            }
            Source::Door(door) => self.accept(door),
            Source::Udp(socket) => {
                let Desk { service, counts, now, .. } = &mut self.desk;
                self.datagrams.serve(socket, service, counts, *now);
            }
            Source::Stream(slot, generation) => {
                self.on_stream(ConnectionId { thread: self.number, slot, generation }, what);
            }
        }
    }

    fn on_stream(&mut self, id: ConnectionId, what: What) {
        // One that was closed in this round, by an event before.
        let Some(connection) = self.table.get_mut(id) else { return };
        connection.readable |= what.readable;
        connection.hangup |= what.hangup;
        connection.broken |= what.broken;
        if matches!(connection.wants, Wants::Dial | Wants::Greet) {
            return self.on_dialled(id);
        }
        let waits = connection.pending.is_some() || connection.has_work() || connection.broken;
        if waits && !connection.queued {
            self.serve(id);
        }
    }

    /// Gives a connection its turn.
    pub(crate) fn serve(&mut self, id: ConnectionId) {
        if let Some(connection) = self.table.get_mut(id) {
            let outcome = self.desk.turn(connection);
            self.settle(id, outcome);
        }
    }

    pub(crate) fn settle(&mut self, id: ConnectionId, outcome: Outcome) {
        match outcome {
            Outcome::Waits => {}
            Outcome::Closed(cause) => self.close(id, cause),
            Outcome::Again => {
                if let Some(connection) = self.table.get_mut(id).filter(|c| !c.queued) {
                    connection.queued = true;
                    self.again.push(id);
                }
            }
        }
    }

    /// Closes a connection, if it is there.
    pub(crate) fn close(&mut self, id: ConnectionId, cause: Cause) {
        let Some(mut connection) = self.table.remove(id) else { return };
        self.desk.held = self.desk.held.saturating_sub(connection.held());
        self.tls_connections -= usize::from(connection.tls.is_some());
        self.dialling.count -= usize::from(connection.permit.is_none());
        let knows = match cause {
            Cause::Failed | Cause::Stalled | Cause::Undialled(_) => true,
            Cause::Peer => connection.tls.is_none(),
            _ => false,
        };
        if !knows {
            stream::part(&connection.stream, connection.tls.as_deref_mut());
        }
        self.desk.counts.closed(cause);
        self.desk.service.closed(connection.state, cause, self.desk.now);
    }

    /// Makes a connection one of this thread.
    pub(crate) fn take_in(&mut self, newcomer: Newcomer) {
        let id = self.table.next_id();
        if self.events.sources().add_stream(&newcomer.stream, Source::stream(id)).is_err() {
            self.desk.counts.refused_system += 1;
            return;
        }
        let certificates = newcomer.tls.as_deref().and_then(|tls| tls.peer_certificates());
        let arrival = Arrival {
            id,
            peer: newcomer.peer,
            listener: newcomer.listener,
            certificate: certificates.and_then(<[_]>::first),
            tls: newcomer.tls.is_some(),
        };
        let state = self.desk.service.accepted(&arrival, self.desk.now);
        let encrypted = newcomer.tls.is_some();
        self.tls_connections += usize::from(encrypted);
        let now_ms = self.desk.now_ms();
        self.table.insert(Connection::new(newcomer, state, now_ms));
        if encrypted {
            self.serve(id);
        }
    }

    fn take_newcomers(&mut self) {
        for newcomer in self.mailbox().take_newcomers() {
            self.take_in(newcomer);
        }
    }

    fn take_mails(&mut self) {
        let mut mails = core::mem::take(&mut self.mails);
        self.more_mail = self.mailbox().take_mails(MAILS_MAX, &mut mails);
        self.desk.counts.mails += mails.len() as u64;
        for (to, mail) in mails.drain(..) {
            match to {
                None => self.desk.service.post(mail, &mut self.datagrams.out.replies, self.desk.now),
                Some(id) => self.deliver(id, mail),
            }
        }
        self.mails = mails;
        self.datagrams.out.flush(&mut self.desk.counts);
    }

    fn deliver(&mut self, id: ConnectionId, mail: S::Mail) {
        match self.table.get_mut(id) {
            Some(connection) => {
                let outcome = self.desk.mail(connection, mail);
                self.settle(id, outcome);
            }
            None => {
                self.desk.counts.mails_undelivered += 1;
                self.desk.service.undelivered(mail, self.desk.now);
            }
        }
    }

    fn mailbox(&self) -> &Mailbox<S::Mail> {
        &self.shared.mailboxes[usize::from(self.number)]
    }

    fn tick(&mut self) {
        self.next_tick = self.desk.now.monotonic + TICK;
        self.clock.look_up();
        self.desk.service.tick(&mut self.datagrams.out.replies, self.desk.now);
        self.datagrams.out.flush(&mut self.desk.counts);
        self.datagrams.out.count_dropped(&mut self.desk.counts);
        self.close_those_without_motion();
        self.open_doors();
    }

    fn close_those_without_motion(&mut self) {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (now, stalled, idle) = (self.desk.now_ms(), ms(self.desk.limits.stalled), self.desk.limits.idle.map(ms));
        let late = self.table.find(|c| {
            // One that is on its way has a time of its own.
            let rest = if matches!(c.wants, Wants::Dial | Wants::Greet) { 0 } else { now.saturating_sub(c.moved_ms) };
            if c.pending.is_some() { rest >= stalled } else { idle.is_some_and(|idle| rest >= idle) }
        });
        for id in late {
            let stuck = self.table.get_mut(id).is_some_and(|c| c.pending.is_some());
            self.close(id, if stuck { Cause::Stalled } else { Cause::Idle });
        }
    }

    /// The server stops: nothing new is taken, what came is answered, what is said goes out.
    fn wind_up(&mut self) {
        let stop_at = match self.stop_at {
            Some(at) => at,
            None => self.begin_to_stop(),
        };
        let late = self.desk.now.monotonic >= stop_at;
        let through = |wants: Wants| matches!(wants, Wants::Input | Wants::Hold);
        let service = &self.desk.service;
        let is_through = |c: &Connection<S::Connection>| {
            c.pending.is_none() && !c.queued && through(c.wants) && !service.owes(&c.state)
        };
        for id in self.table.find(|c| late || is_through(c)) {
            if !late {
                self.say_farewell(id);
            }
            let Desk { service, now, .. } = &self.desk;
            let ends = |c: &Connection<S::Connection>| c.pending.is_none() && !service.lingers(&c.state, *now);
            if self.table.get_mut(id).is_some_and(|c| late || ends(c)) {
                self.close(id, Cause::Stopped);
            }
        }
    }

    /// Once, and never in the middle of an answer.
    fn say_farewell(&mut self, id: ConnectionId) {
        let Some(connection) = self.table.get_mut(id).filter(|c| !c.parted) else { return };
        connection.parted = true;
        let readable = core::mem::replace(&mut connection.readable, false);
        let outcome = self.desk.farewell(connection);
        match self.desk.service.lingers(&connection.state, self.desk.now) {
            true => connection.readable = readable,
            // What it asks from now on is not read any more.
            false => connection.wants = Wants::Hold,
        }
        match outcome {
            Outcome::Closed(cause) => self.close(id, cause),
            Outcome::Again | Outcome::Waits => self.serve(id),
        }
    }

    fn begin_to_stop(&mut self) -> Duration {
        let at = self.desk.now.monotonic + self.desk.limits.stop;
        self.stop_at = Some(at);
        for door in core::mem::take(&mut self.doors) {
            self.events.sources().remove(&door.socket);
        }
        let Desk { service, counts, now, .. } = &mut self.desk;
        for socket in 0..self.datagrams.out.sockets.len() {
            self.datagrams.serve(socket, service, counts, *now);
        }
        self.datagrams.out.count_dropped(counts);
        self.datagrams.out.sockets.clear();
        self.take_newcomers();
        self.give_up_dialling();
        for id in self.table.find(|_| true) {
            if let Some(connection) = self.table.get_mut(id) {
                connection.readable = true;
                self.serve(id);
            }
        }
        at
    }

    fn is_done(&self) -> bool {
        self.stop_at.is_some() && self.table.len() == 0
    }

    fn show(&self) {
        let shown = Shown {
            counts: self.desk.counts,
            held_octets: self.desk.held,
            tls_connections: self.tls_connections,
            dialled_connections: self.dialling.count,
        };
        self.shared.cells[usize::from(self.number)].show(shown);
    }
}

/// Also if the service fails: what the thread had is closed, and nobody waits for it.
impl<S: Service> Drop for Worker<S> {
    fn drop(&mut self) {
        let brought = self.mailbox().close().len();
        self.desk.counts.closed_stopped += (brought + self.table.len()) as u64;
        self.table = Table::new(self.number);
        (self.desk.held, self.tls_connections, self.dialling.count) = (0, 0, 0);
        self.show();
    }
}
