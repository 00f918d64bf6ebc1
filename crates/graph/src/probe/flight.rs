//! What is on its way, found by what its answer will bear.

use std::collections::HashMap;
use trunkline_kit::random::Random;

/// Echo requests on their way at once.
// Limit: echo requests in flight
// Beyond: rounds wait
// Seen in: `trunkline_graph_probe_held_rounds_total`
pub const ECHOES_MAX: usize = 1 << 14;
/// Ports that are tried at once.
// Limit: TCP ports tried at once
// Beyond: rounds wait
// Seen in: `trunkline_graph_probe_held_rounds_total`
pub const PORTS_MAX: usize = 1 << 14;
/// Programs that run at once.
// Limit: programs run at once
// Beyond: rounds wait
// Seen in: `trunkline_graph_probe_held_rounds_total`
pub const PROGRAMS_MAX: usize = 1 << 10;
/// Pages that are asked for at once.
// Limit: web pages and metrics pages fetched at once
// Beyond: rounds wait
// Seen in: `trunkline_graph_probe_held_rounds_total`
pub const PAGES_MAX: usize = 1 << 14;

/// What shares a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Echo,
    Port,
    Program,
    Page,
}

pub(super) const KINDS: [Kind; 4] = [Kind::Echo, Kind::Port, Kind::Program, Kind::Page];

/// A part of a round: of which task, and which part of its round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) task: u64,
    pub(super) place: usize,
}

#[derive(Clone, Copy, Debug)]
struct Echo {
    part: Part,
    token: u64,
    sent_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Ticket {
    part: Part,
    kind: Kind,
    begun_ns: u64,
}

#[derive(Debug)]
pub(super) struct Flight {
    echoes: Vec<Option<Echo>>,
    echoes_free: Vec<u16>,
    tickets: HashMap<u64, Ticket>,
    ticket_last: u64,
    /// By [`Kind`]: how many there are, and how many there may be.
    open: [usize; 4],
    most: [usize; 4],
    random: Random,
}

impl Flight {
    pub(super) fn new(most: [usize; 4], seed: u64) -> Flight {
        let maxima = [ECHOES_MAX, PORTS_MAX, PROGRAMS_MAX, PAGES_MAX];
        let mut bounds = [1; 4];
        for (bound, (most, maximum)) in bounds.iter_mut().zip(most.into_iter().zip(maxima)) {
            *bound = most.clamp(1, maximum);
        }
        Flight {
            echoes: Vec::new(),
            echoes_free: Vec::new(),
            tickets: HashMap::new(),
            ticket_last: 0,
            open: [0; 4],
            most: bounds,
            random: Random::new(seed, 0),
        }
    }

    pub(super) fn has_room(&self, kind: Kind) -> bool {
        self.open[kind as usize] < self.most[kind as usize]
    }

    /// The sequence and the number by chance of an echo request.
    pub(super) fn echo(&mut self, part: Part, now_ns: u64) -> (u16, u64) {
        let sequence = self.echoes_free.pop().unwrap_or_else(|| {
            self.echoes.push(None);
            (self.echoes.len() - 1) as u16
        });
        let token = self.random.number();
        self.echoes[usize::from(sequence)] = Some(Echo { part, token, sent_ns: now_ns });
        self.open[Kind::Echo as usize] += 1;
        (sequence, token)
    }

    /// Takes the echo request of that sequence and number: its part, and when it was sent.
    pub(super) fn take_echo(&mut self, sequence: u16, token: u64) -> Option<(Part, u64)> {
        let place = self.echoes.get_mut(usize::from(sequence))?;
        let echo = place.take_if(|echo| echo.token == token)?;
        self.echoes_free.push(sequence);
        self.open[Kind::Echo as usize] -= 1;
        Some((echo.part, echo.sent_ns))
    }

    /// The part of an echo request that is on its way.
    pub(super) fn echo_part(&self, sequence: u16, token: u64) -> Option<Part> {
        let echo = self.echoes.get(usize::from(sequence))?.as_ref()?;
        (echo.token == token).then_some(echo.part)
    }

    /// A number for anything else.
    pub(super) fn ticket(&mut self, part: Part, kind: Kind, now_ns: u64) -> u64 {
        self.ticket_last += 1;
        self.tickets.insert(self.ticket_last, Ticket { part, kind, begun_ns: now_ns });
        self.open[kind as usize] += 1;
        self.ticket_last
    }

    /// Takes what has that number: its part, what it shares a bound with, and when it was begun.
    pub(super) fn take(&mut self, ticket: u64) -> Option<(Part, Kind, u64)> {
        let Ticket { part, kind, begun_ns } = self.tickets.remove(&ticket)?;
        self.open[kind as usize] -= 1;
        Some((part, kind, begun_ns))
    }

    /// Forgets all of a task; the numbers of what was begun for it.
    pub(super) fn forget(&mut self, task: u64) -> Vec<u64> {
        for sequence in 0..self.echoes.len() {
            if let Some(echo) = self.echoes[sequence].filter(|echo| echo.part.task == task) {
                self.take_echo(sequence as u16, echo.token);
            }
        }
        let mut tickets: Vec<u64> =
            self.tickets.iter().filter(|(_, ticket)| ticket.part.task == task).map(|(number, _)| *number).collect();
        tickets.sort_unstable();
        for ticket in &tickets {
            self.take(*ticket);
        }
        tickets
    }

    /// How much is on its way: echoes, ports, programs, pages.
    pub(super) fn open(&self) -> [usize; 4] {
        self.open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_and_numbers_are_not_used_twice() {
        let mut flight = Flight::new([2, 1, 0, usize::MAX], 1);
        let part = |task| Part { task, place: 0 };
        let (first, token) = flight.echo(part(1), 5);
        let (second, other) = flight.echo(part(2), 6);
        assert!(first != second && !flight.has_room(Kind::Echo) && flight.has_room(Kind::Program));
        assert_eq!(flight.take_echo(first, other), None);
        assert_eq!(flight.take_echo(first, token), Some((part(1), 5)));
        assert_eq!(flight.take_echo(first, token), None);
        // The same sequence has another number then.
        let (again, third) = flight.echo(part(3), 7);
        assert!(again == first && third != token);
        let ticket = flight.ticket(part(2), Kind::Port, 8);
        assert!(!flight.has_room(Kind::Port));
        assert_eq!(flight.forget(2), [ticket]);
        assert_eq!((flight.open(), flight.take(ticket)), ([1, 0, 0, 0], None));
        assert!(flight.ticket(part(4), Kind::Port, 9) > ticket);
    }
}
