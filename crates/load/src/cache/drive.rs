//! One thread with its connections: sends what is due, waits, counts what comes.

use super::link::Link;
use super::plan::Plan;
use super::source::Source;
use super::tally::Tally;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::fd::OwnedFd;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Octets that are read at a time.
const ROOM_OCTETS: usize = 256 << 10;
/// Connections that are looked at in a turn.
const EVENTS_MAX: usize = 256;
/// The longest wait, after which the end and lost datagrams are looked for.
const WAIT_NS_MAX: u64 = 20_000_000;
/// Requests that may be lost while a server is filled, besides as many as it answers.
const LOST_MAX: u64 = 50;
/// How often lost datagrams are looked for.
const LOOK_NS: u64 = 20_000_000;

/// When requests are sent.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Nanoseconds from the start to the first, in open loop, and from one to the next.
    pub due: Option<(f64, f64)>,
    /// Nanoseconds from the start to the end; none where the source ends.
    pub end_ns: Option<u64>,
    /// Requests of a connection that wait at a time.
    pub in_flight: usize,
}

/// A connection, and whether it is in the queue of those that may ask.
struct Place {
    link: Option<Link>,
    queued: bool,
    /// Whether the system tells when there is room to send.
    watched: bool,
}

/// A thread's connections.
pub struct Driver<'a> {
    plan: &'a Plan,
    epoll: OwnedFd,
    places: Vec<Place>,
    room: Vec<u8>,
    stop: &'a AtomicBool,
}

impl<'a> Driver<'a> {
    /// Of connections that are open.
    pub fn new(plan: &'a Plan, links: Vec<Link>, stop: &'a AtomicBool) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (at, link) in links.iter().enumerate() {
            epoll::add(&epoll, link.socket(), epoll::EventData::new_u64(at as u64), epoll::EventFlags::IN)?;
        }
        let places = links.into_iter().map(|link| Place { link: Some(link), queued: false, watched: false });
        Ok(Driver { plan, epoll, places: places.collect(), room: vec![0; ROOM_OCTETS], stop })
    }

    /// Sends what the source makes from `start` on, and counts until all is answered or given up.
    pub fn run(&mut self, source: Source<'_>, pace: Pace, start: Instant) -> Tally {
        // Without it a wait ends up to 50 us late, which open loop would count as the server's.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let mut round = Round {
            driver: self,
            source,
            pace,
            start,
            tally: Tally::default(),
            free: VecDeque::new(),
            sent: 0,
            dry: false,
            looked_ns: 0,
        };
        round.run();
        round.tally
    }
}

/// When the n-th request is due, by first and step.
fn nth_ns((first, step): (f64, f64), n: u64) -> u64 {
    (first + n as f64 * step) as u64
}

/// A run of the driver.
struct Round<'d, 'a, 's> {
    driver: &'d mut Driver<'a>,
    source: Source<'s>,
    pace: Pace,
    start: Instant,
    tally: Tally,
    free: VecDeque<usize>,
    sent: u64,
    dry: bool,
    looked_ns: u64,
}

impl Round<'_, '_, '_> {
    fn run(&mut self) {
        for at in 0..self.driver.places.len() {
            self.driver.places[at].queued = false;
            self.offer(at);
        }
        let mut events = Vec::with_capacity(EVENTS_MAX);
        let patience_ns = self.driver.plan.patience.as_nanos() as u64;
        let mut ended_ns = None;
        loop {
            let now_ns = self.now_ns();
            if ended_ns.is_none() && self.is_over(now_ns) {
                ended_ns = Some(now_ns);
                self.count_unsent();
            }
            match ended_ns {
                None => self.send(now_ns),
                Some(ended_ns) if self.idle() || now_ns > ended_ns + patience_ns => break,
                Some(_) => {}
            }
            let wait_ns = self.wait_ns(ended_ns.is_some());
            self.wait(&mut events, wait_ns);
            self.look_for_lost(patience_ns);
        }
        for place in &mut self.driver.places {
            if let Some(link) = &mut place.link {
                link.give_up(&mut self.source, &mut self.tally);
            }
        }
        // What waits still could be answered in the next run, as an answer to another question.
        if self.tally.lost > 0 && self.pace.end_ns.is_none() {
            self.tally.trouble(|| "requests were not answered".to_owned());
        }
    }

    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn is_over(&mut self, now_ns: u64) -> bool {
        let open = self.driver.places.iter().any(|place| place.link.is_some());
        // Who answers nothing is not asked for ever.
        let deaf = self.pace.end_ns.is_none() && self.tally.lost > LOST_MAX + self.tally.requests;
        let stopped = !open || deaf || self.driver.stop.load(Ordering::Relaxed);
        stopped || self.pace.end_ns.map_or_else(|| self.dry && self.idle(), |end_ns| now_ns >= end_ns)
    }

    fn idle(&mut self) -> bool {
        self.driver.places.iter_mut().filter_map(|place| place.link.as_mut()).all(|link| link.waiting() == 0)
    }

    /// When the next request is due, in open loop.
    fn due_ns(&self) -> Option<u64> {
        self.pace.due.map(|due| nth_ns(due, self.sent))
    }

    /// Puts a connection into the queue, if it may ask.
    fn offer(&mut self, at: usize) {
        let place = &mut self.driver.places[at];
        let Some(link) = place.link.as_mut().filter(|_| !place.queued) else { return };
        if link.waiting() < self.pace.in_flight {
            place.queued = true;
            self.free.push_back(at);
        }
    }

    /// Sends all that is due and that a connection is free for.
    fn send(&mut self, now_ns: u64) {
        for _ in 0..self.free.len() {
            if self.due_ns().is_some_and(|due_ns| due_ns > now_ns) {
                return;
            }
            let Some(at) = self.free.pop_front() else { return };
            self.driver.places[at].queued = false;
            let done = self.fill(at);
            if let Err(e) = done.and_then(|()| self.flush(at)) {
                self.close(at, &e);
            }
            if !self.dry {
                self.offer(at);
            }
        }
    }

    /// Requests of one connection: one in open loop, as many as may wait in closed loop.
    fn fill(&mut self, at: usize) -> io::Result<()> {
        let Some(link) = self.driver.places[at].link.as_mut() else { return Ok(()) };
        while link.waiting() < self.pace.in_flight {
            let now_ns = self.start.elapsed().as_nanos() as u64;
            let due_ns = self.pace.due.map_or(now_ns, |due| nth_ns(due, self.sent));
            self.dry = !link.ask(&mut self.source, due_ns, now_ns, &mut self.tally)?;
            if self.dry {
                break;
            }
            self.sent += 1;
            if self.pace.due.is_some() {
                break;
            }
        }
        Ok(())
    }

    fn flush(&mut self, at: usize) -> io::Result<()> {
        let place = &mut self.driver.places[at];
        let Some(link) = &mut place.link else { return Ok(()) };
        let watch = !link.flush(&mut self.tally)?;
        if watch != place.watched {
            let flags = epoll::EventFlags::IN | if watch { epoll::EventFlags::OUT } else { epoll::EventFlags::empty() };
            epoll::modify(&self.driver.epoll, link.socket(), epoll::EventData::new_u64(at as u64), flags)?;
            place.watched = watch;
        }
        Ok(())
    }

    fn wait_ns(&self, ended: bool) -> u64 {
        let now_ns = self.now_ns();
        let end_ns = if ended { None } else { self.pace.end_ns };
        let due_ns = if ended || self.free.is_empty() { None } else { self.due_ns() };
        let closed_loop = !ended && self.pace.due.is_none() && !self.free.is_empty() && !self.dry;
        let until = [end_ns, due_ns].into_iter().flatten().min().unwrap_or(u64::MAX);
        if closed_loop { 0 } else { until.saturating_sub(now_ns).min(WAIT_NS_MAX) }
    }

    fn wait(&mut self, events: &mut Vec<epoll::Event>, wait_ns: u64) {
        events.clear();
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        if wait_ns > 0 {
            // epoll waits in whole milliseconds, poll in nanoseconds; a signal ends either early.
            let timeout = Timespec { tv_sec: 0, tv_nsec: wait_ns as _ };
            if self.pace.due.is_some() {
                let _ = poll(&mut [PollFd::new(&self.driver.epoll, PollFlags::IN)], Some(&timeout));
            }
        }
        let whole = Timespec { tv_sec: 0, tv_nsec: wait_ns.next_multiple_of(1_000_000) as _ };
        let timeout = if self.pace.due.is_some() || wait_ns == 0 { none } else { whole };
        let room = rustix::buffer::spare_capacity(events);
        if epoll::wait(&self.driver.epoll, room, Some(&timeout)).is_err() {
            return;
        }
        for event in events.drain(..) {
            self.event(event.data.u64() as usize, event.flags);
        }
    }

    fn event(&mut self, at: usize, flags: epoll::EventFlags) {
        let Driver { places, room, .. } = &mut *self.driver;
        let Some(link) = places.get_mut(at).and_then(|place| place.link.as_mut()) else { return };
        let start = self.start;
        let now_ns = || start.elapsed().as_nanos() as u64;
        let mut done = Ok(0);
        if flags.intersects(epoll::EventFlags::IN | epoll::EventFlags::ERR | epoll::EventFlags::HUP) {
            done = link.receive(room, now_ns, &self.source, &mut self.tally);
        }
        let flushed = if flags.contains(epoll::EventFlags::OUT) { self.flush(at) } else { Ok(()) };
        match done.and_then(|over| flushed.map(|()| over)) {
            Ok(0) => {}
            Ok(_) => self.offer(at),
            Err(e) => self.close(at, &e),
        }
    }

    fn close(&mut self, at: usize, error: &io::Error) {
        let Some(mut link) = self.driver.places[at].link.take() else { return };
        // The socket closes with the link, which takes it out of the epoll.
        link.give_up(&mut self.source, &mut self.tally);
        self.tally.closed += 1;
        self.tally.trouble(|| match error.kind() {
            io::ErrorKind::ConnectionRefused => format!("nobody listens there ({error})"),
            _ => error.to_string(),
        });
    }

    fn look_for_lost(&mut self, patience_ns: u64) {
        let now_ns = self.now_ns();
        if now_ns < self.looked_ns + LOOK_NS {
            return;
        }
        self.looked_ns = now_ns;
        for at in 0..self.driver.places.len() {
            let Some(link) = &mut self.driver.places[at].link else { continue };
            let mut any = false;
            while link.expire(now_ns, patience_ns, &mut self.source, &mut self.tally) {
                any = true;
            }
            if any {
                // A fill may be dry no longer: what was lost is made again.
                self.dry = false;
                self.offer(at);
            }
        }
    }

    /// Requests of open loop that were due before the end.
    fn count_unsent(&mut self) {
        let (Some((first, step)), Some(end_ns)) = (self.pace.due, self.pace.end_ns) else { return };
        let end_ns = end_ns.min(self.now_ns());
        let due = ((end_ns as f64 - first) / step).ceil().max(0.0) as u64;
        if let Some(oldest_ns) = self.due_ns().filter(|_| due > self.sent) {
            self.tally.unsent(due - self.sent, end_ns.saturating_sub(oldest_ns));
        }
    }
}
