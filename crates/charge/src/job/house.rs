//! What is done beside requests: sessions end of which nothing came, clients are asked to come again.

use super::worker::Mail;
use super::{Shared, moment};
use crate::calendar::Moment;
use crate::clock::Found;
use crate::session::Push;
use std::collections::VecDeque;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use trunkline_net::{MailboxFull, Waker};

/// How often it looks.
const PERIOD: Duration = Duration::from_millis(100);
/// Of its looks, the one that looks at the directory, too: once a second.
const DIRECTORY_LOOKS: u64 = 10;
/// How long it waits until a client that was not reached is tried again.
const AGAIN: Duration = Duration::from_secs(5);
/// Questions that are sent in one look.
const PUSHES_MAX: usize = 1000;
/// Questions that wait for their next try.
const WAITING_MAX: usize = 100_000;

/// The thread; dropped, it ends.
pub(super) struct House {
    ends: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl House {
    pub fn start(shared: Arc<Shared>, waker: Waker<Mail>) -> std::io::Result<House> {
        let (ends, ended) = channel();
        let mut keeper = Keeper { shared, waker, waiting: VecDeque::new(), second: 0, looks: 0 };
        let runs = move || {
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                keeper.look()
            }
        };
        let thread = std::thread::Builder::new().name("charge-house".to_owned()).spawn(runs)?;
        Ok(House { ends: Some(ends), thread: Some(thread) })
    }
}

impl House {
    /// Whether it has failed: it ends by itself otherwise never.
    pub fn has_failed(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

impl Drop for House {
    fn drop(&mut self) {
        drop(self.ends.take());
        // A panic of it was told when it happened.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

struct Keeper {
    shared: Arc<Shared>,
    waker: Waker<Mail>,
    /// Questions that wait for their next try.
    waiting: VecDeque<(Instant, Push)>,
    /// The second that was looked at last.
    second: Moment,
    looks: u64,
}

impl Keeper {
    fn look(&mut self) {
        let now = self.clock();
        // Each hold of the book is short: requests come between.
        while self.shared.book.desk().time(now) {
            self.shared.book.flush();
        }
        self.shared.book.flush();
        self.pushes();
        self.looks += 1;
        if let Some(profiles) = &self.shared.profiles {
            profiles.bring_late();
            if self.looks.is_multiple_of(DIRECTORY_LOOKS) {
                profiles.look();
            }
        }
        if now != self.second {
            self.second = now;
            self.series(now);
        }
    }

    /// Looks at the clocks; the time to decide by.
    fn clock(&self) -> Moment {
        let (wall, now) = super::both_clocks();
        let mut desk = self.shared.book.desk();
        let (found, at) = (desk.look(wall, now), desk.now(moment(wall)));
        drop(desk);
        match found {
            Some(Found::Leapt(by)) => tracing::warn!(
                "charging: the system's clock leapt by {by} s, and is not followed: is it right now, or was it before?"
            ),
            Some(Found::Back) => tracing::warn!("charging: the system's clock is back where it was"),
            Some(Found::Follows(by)) => {
                tracing::warn!("charging: the system's clock stays where it went, off by {by} s, and is followed");
            }
            None => {}
        }
        at
    }

    /// A second has gone by.
    fn series(&self, now: Moment) {
        let desk = self.shared.book.desk();
        let (sessions, behind) = (desk.core().state().open_sessions() as u64, desk.behind());
        drop(desk);
        let traffic = self.shared.traffic();
        let mut series = self.shared.series.lock().unwrap_or_else(PoisonError::into_inner);
        series.take(now, &traffic, sessions, u32::try_from(behind).unwrap_or(u32::MAX));
    }

    fn pushes(&mut self) {
        let at = Instant::now();
        let back = self.shared.routes.take_back();
        let room = WAITING_MAX.saturating_sub(self.waiting.len());
        self.waiting.extend(back.into_iter().take(room).map(|push| (at + AGAIN, push)));
        for _ in 0..PUSHES_MAX {
            let Some(push) = self.next(at) else { return };
            self.send(at, push);
        }
    }

    /// The next question: a new one, or one whose time has come again and that is still to be asked.
    fn next(&mut self, at: Instant) -> Option<Push> {
        let mut desk = self.shared.book.desk();
        // With too many that wait for another try the core keeps those that are new.
        if let Some(push) = (self.waiting.len() < WAITING_MAX).then(|| desk.push()).flatten() {
            return Some(push);
        }
        while self.waiting.front().is_some_and(|(due, _)| *due <= at) {
            let (_, push) = self.waiting.pop_front()?;
            if desk.core().is_asked(&push.session) {
                return Some(push);
            }
        }
        None
    }

    /// To the connection on which the client asked last; else later. A session that its client does not come back to
    /// ends by its supervision.
    fn send(&mut self, at: Instant, push: Push) {
        if let Some((thread, _)) = self.shared.gtpp.as_ref().and_then(|gtpp| gtpp.way(&push.origin)) {
            if let Err(MailboxFull(Mail::Quota(push))) = self.waker.to_thread(thread, Mail::Quota(push)) {
                self.shared.routes.give_back(push);
            }
            return;
        }
        let sent = match self.shared.routes.get(&push.origin) {
            Some(route) => self.waker.to_connection(route.id, Mail::Push(push, route.realm)),
            None => Err(MailboxFull(Mail::Push(push, Box::default()))),
        };
        if let Err(MailboxFull(Mail::Push(push, _))) = sent
            && self.waiting.len() < WAITING_MAX
        {
            self.waiting.push_back((at + AGAIN, push));
        }
    }
}

/// Seconds since 1970.
pub(super) fn present() -> Moment {
    moment(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}
