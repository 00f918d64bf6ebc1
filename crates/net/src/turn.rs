//! A turn of a connection: what waits goes out, what came is shown to the service, what it says goes out.

use crate::connection::{Connection, Wants};
use crate::counts::Counts;
use crate::input::{COPIED_OCTETS_MAX, Input};
use crate::options::Limits;
use crate::output::Output;
use crate::service::{Cause, Next, Now, Service};
use crate::stream::{self, Buffers};

/// What a call of the service counts for in a turn at least, so that one that says nothing ends, too.
const STEP_OCTETS: usize = 256;

/// What a thread works with; its connections have buffers of their own only for what is left over.
pub(crate) struct Desk<S> {
    pub(crate) service: S,
    pub(crate) limits: Limits,
    pub(crate) input: Input,
    pub(crate) output: Vec<u8>,
    pub(crate) buffers: Buffers,
    pub(crate) counts: Counts,
    pub(crate) now: Now,
    /// Octets held for connections.
    pub(crate) held: usize,
    /// Its part of [`Limits::held_octets`].
    pub(crate) held_most: usize,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// For an event.
    Waits,
    /// It has more to do, after the others.
    Again,
    /// It is over.
    Closed(Cause),
}

impl<S: Service> Desk<S> {
    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.now.monotonic.as_millis()).unwrap_or(u64::MAX)
    }

    /// Gives a connection its turn.
    pub(crate) fn turn(&mut self, connection: &mut Connection<S::Connection>) -> Outcome {
        if matches!(connection.wants, Wants::Dial | Wants::Greet) {
            return Outcome::Waits;
        }
        self.held = self.held.saturating_sub(connection.held());
        let outcome = self.with_input(connection);
        self.keep(connection, outcome)
    }

    /// Gives a connection its mail. What is said to it goes out in its next turn.
    pub(crate) fn mail(&mut self, connection: &mut Connection<S::Connection>, mail: S::Mail) -> Outcome {
        self.speak(connection, |service, state, output, now| service.mail(state, mail, output, now))
    }

    /// Lets the service say its last words to a connection, as of [`Desk::mail`].
    pub(crate) fn farewell(&mut self, connection: &mut Connection<S::Connection>) -> Outcome {
        self.speak(connection, |service, state, output, now| {
            service.farewell(state, output, now);
            Next::More
        })
    }

    /// Has the service say something outside of a turn. [`Outcome::Again`] asks for one.
    fn speak(
        &mut self,
        connection: &mut Connection<S::Connection>,
        says: impl FnOnce(&mut S, &mut S::Connection, &mut Output<'_>, Now) -> Next,
    ) -> Outcome {
        self.outside(connection, says, |desk, connection, now_ms| {
            stream::add(connection, &desk.output, &mut desk.buffers, now_ms)?;
            Ok(connection.pending.is_some() || connection.has_work())
        })
    }

    /// Has the service say something outside of a turn, and sends it at once where nothing is stuck.
    pub(crate) fn say_now(
        &mut self,
        connection: &mut Connection<S::Connection>,
        says: impl FnOnce(&mut S, &mut S::Connection, &mut Output<'_>, Now) -> Next,
    ) -> Outcome {
        self.outside(connection, says, |desk, connection, now_ms| {
            stream::say(connection, &desk.output, &mut desk.buffers, &mut desk.counts, now_ms)?;
            Ok(connection.pending.is_none() && connection.has_work())
        })
    }

    /// Has the service say something, and `passes` it on, which tells whether the connection is to have a turn.
    fn outside(
        &mut self,
        connection: &mut Connection<S::Connection>,
        says: impl FnOnce(&mut S, &mut S::Connection, &mut Output<'_>, Now) -> Next,
        passes: impl FnOnce(&mut Self, &mut Connection<S::Connection>, u64) -> Result<bool, Cause>,
    ) -> Outcome {
        self.held = self.held.saturating_sub(connection.held());
        let passed = self.ask(connection, says).and_then(|next| {
            connection.wants = after_mail(connection, next);
            let now_ms = self.now_ms();
            passes(self, connection, now_ms)
        });
        let outcome = match passed {
            Err(cause) => Outcome::Closed(cause),
            Ok(true) => Outcome::Again,
            Ok(false) => Outcome::Waits,
        };
        self.output.clear();
        self.keep(connection, outcome)
    }

    /// Counts what the connection holds after all, if there is room for it.
    fn keep(&mut self, connection: &Connection<S::Connection>, outcome: Outcome) -> Outcome {
        let held = connection.held();
        self.held += held;
        match outcome {
            Outcome::Closed(_) => outcome,
            _ if held > 0 && self.held > self.held_most => Outcome::Closed(Cause::Memory),
            _ => outcome,
        }
    }

    /// Takes up what is carried, with the thread's buffer if it is little.
    fn with_input(&mut self, connection: &mut Connection<S::Connection>) -> Outcome {
        match connection.carried.take() {
            Some(mut own) if own.len() > COPIED_OCTETS_MAX => {
                let outcome = self.steps(connection, &mut own);
                connection.carried = match own.len() {
                    0 => None,
                    few if few <= COPIED_OCTETS_MAX => Some(Box::new(Input::of(own.unread()))),
                    _ => Some(own),
                };
                outcome
            }
            little => {
                let mut input = core::mem::take(&mut self.input);
                if let Some(little) = little {
                    input.put(little.unread());
                }
                let outcome = self.steps(connection, &mut input);
                if input.len() > 0 {
                    connection.carried = Some(Box::new(Input::of(input.unread())));
                    input.clear();
                }
                self.input = input;
                outcome
            }
        }
    }

    fn steps(&mut self, connection: &mut Connection<S::Connection>, input: &mut Input) -> Outcome {
        let now_ms = self.now_ms();
        let mut budget = self.limits.turn_octets;
        if let Err(cause) = stream::flush(connection, &mut self.counts, now_ms) {
            return Outcome::Closed(cause);
        }
        loop {
            match self.step(connection, input, &mut budget) {
                Err(cause) => return Outcome::Closed(cause),
                Ok(Some(outcome)) => return outcome,
                Ok(None) if budget == 0 && connection.pending.is_none() && connection.has_work() => {
                    self.counts.yields += 1;
                    return Outcome::Again;
                }
                Ok(None) => {}
            }
        }
    }

    /// One call of the service at most, and one write; the outcome of the turn if it is over.
    fn step(
        &mut self,
        connection: &mut Connection<S::Connection>,
        input: &mut Input,
        budget: &mut usize,
    ) -> Result<Option<Outcome>, Cause> {
        if connection.pending.is_some() {
            // Its next event is that there is room, or that it failed.
            return if connection.broken { Err(Cause::Failed) } else { Ok(Some(Outcome::Waits)) };
        }
        let now_ms = self.now_ms();
        let next = match connection.wants {
            Wants::Input => {
                let read = match stream::receive(connection, input, &mut self.buffers, &mut self.counts) {
                    // It has asked all that it will, and waits for answers: the end is found again after them.
                    Err(Cause::Peer) if !connection.broken && self.service.owes(&connection.state) => {
                        connection.wants = Wants::Hold;
                        return Ok(Some(Outcome::Waits));
                    }
                    read => read?,
                };
                if read == 0 {
                    stream::say(connection, &[], &mut self.buffers, &mut self.counts, now_ms)?;
                    return Ok(Some(if connection.readable { Outcome::Again } else { Outcome::Waits }));
                }
                connection.moved_ms = now_ms;
                *budget = budget.saturating_sub(read);
                self.show(connection, input)?
            }
            Wants::Turn => self.show(connection, input)?,
            Wants::Resume => self.ask(connection, |service, state, output, now| service.resume(state, output, now))?,
            Wants::Hold if connection.broken => return Err(Cause::Failed),
            Wants::Hold | Wants::Dial | Wants::Greet => return Ok(Some(Outcome::Waits)),
            Wants::Close => return Err(Cause::Service),
        };
        let yields = next == Next::Yield;
        connection.wants = self.after(connection.wants, next, input)?;
        let sent = stream::say(connection, &self.output, &mut self.buffers, &mut self.counts, now_ms);
        self.output.clear();
        *budget = budget.saturating_sub(sent?.max(STEP_OCTETS));
        if yields && connection.pending.is_none() && connection.has_work() {
            self.counts.yields += 1;
            return Ok(Some(Outcome::Again));
        }
        Ok(None)
    }

    fn show(&mut self, connection: &mut Connection<S::Connection>, input: &mut Input) -> Result<Next, Cause> {
        let mut octets = 0;
        let next = self.ask(connection, |service, state, output, now| {
            let taken = service.octets(state, input.unread(), output, now);
            octets = taken.octets;
            taken.next
        })?;
        input.take(octets);
        Ok(next)
    }

    /// Has the service write into the thread's buffer, as much as the connection has room for.
    fn ask(
        &mut self,
        connection: &mut Connection<S::Connection>,
        says: impl FnOnce(&mut S, &mut S::Connection, &mut Output<'_>, Now) -> Next,
    ) -> Result<Next, Cause> {
        let most = self.limits.output_octets.saturating_sub(connection.unsent());
        let mut overflowed = false;
        let mut output = Output::new(&mut self.output, most, &mut overflowed);
        let next = says(&mut self.service, &mut connection.state, &mut output, self.now);
        if overflowed {
            self.output.clear();
            return Err(Cause::Output);
        }
        Ok(next)
    }

    /// What a connection wants after a call of the service in its turn.
    fn after(&self, wanted: Wants, next: Next, input: &Input) -> Result<Wants, Cause> {
        Ok(match next {
            Next::Close => Wants::Close,
            Next::Resume => Wants::Resume,
            Next::Hold => Wants::Hold,
            Next::Yield if input.len() > 0 => Wants::Turn,
            Next::More if wanted == Wants::Resume && input.len() > 0 => Wants::Turn,
            Next::More if input.len() >= self.limits.carried_octets => return Err(Cause::Input),
            Next::More | Next::Yield => Wants::Input,
        })
    }
}

/// What a connection wants after mail: what it wanted before, if that is more than the mail asks for.
fn after_mail<C>(connection: &Connection<C>, next: Next) -> Wants {
    match (connection.wants, next) {
        (Wants::Dial | Wants::Greet, _) => connection.wants,
        (Wants::Close, _) | (_, Next::Close) => Wants::Close,
        (Wants::Resume, _) | (_, Next::Resume) => Wants::Resume,
        (Wants::Turn, _) => Wants::Turn,
        (_, Next::Hold) => Wants::Hold,
        (Wants::Hold, Next::More | Next::Yield) if connection.carried.is_some() => Wants::Turn,
        (Wants::Hold | Wants::Input, Next::More | Next::Yield) => Wants::Input,
    }
}
