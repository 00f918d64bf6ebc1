//! Clients and what they asked: answers go out in the order of the commands, whenever they come.

use super::answer::{Asked, Said};
use super::request::Request;
use std::collections::VecDeque;

/// Memory of a buffer that is kept for the next request.
const KEPT_OCTETS_MAX: usize = 16 << 10;

/// Keys of a get, and octets of their answers, that are told before the rest is here.
const TOGETHER_KEYS: usize = 128;
const TOGETHER_OCTETS: usize = 32 << 10;

/// What a request is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// At the server that its key belongs to.
    First,
    /// At the replica of that number.
    Replica(u16),
    /// At several servers at once.
    Copies,
    /// At the pool that stands in.
    Gutter,
    /// A cold pool had nothing: at the warm one.
    Warm,
    /// What the warm one had is being added.
    Adding,
    /// At the first server again, after that.
    Again,
}

/// A request and its answer.
#[derive(Debug)]
pub struct Ask {
    /// Whose it is; none of one that has gone.
    pub client: Option<u32>,
    /// What is asked.
    pub request: Request,
    /// The pool of its key.
    pub pool: u16,
    /// What it is at.
    pub stage: Stage,
    /// Answers that are still to come.
    pub waiting: u16,
    /// What the answer says, and which of several it is.
    pub said: Said,
    /// The lowest number of those that answered.
    pub best: u16,
    /// The answer.
    pub answer: Vec<u8>,
    /// It is answered.
    pub done: bool,
    /// It is the last key of a get.
    pub last: bool,
    /// Octets of memory that its answer was counted with.
    pub held: usize,
    prepared: bool,
}

impl Default for Ask {
    fn default() -> Ask {
        Ask {
            client: None,
            request: Request::default(),
            pool: 0,
            stage: Stage::First,
            waiting: 0,
            said: Said::Done,
            best: u16::MAX,
            answer: Vec::new(),
            done: false,
            last: true,
            held: 0,
            prepared: false,
        }
    }
}

impl Ask {
    /// Makes it ready for another request; buffers stay, unless they are large.
    fn renew(&mut self) {
        let mut request = core::mem::take(&mut self.request);
        request.octets.clear();
        request.octets.shrink_to(KEPT_OCTETS_MAX);
        let mut answer = core::mem::take(&mut self.answer);
        answer.clear();
        answer.shrink_to(KEPT_OCTETS_MAX);
        *self = Ask { request, answer, ..Ask::default() };
    }
}

/// The requests of a thread, by number; numbers are used again.
#[derive(Debug, Default)]
pub struct Asks {
    all: Vec<Ask>,
    free: Vec<u32>,
}

impl Asks {
    /// A new one.
    pub fn make(&mut self) -> u32 {
        if let Some(number) = self.free.pop() {
            return number;
        }
        self.all.push(Ask::default());
        (self.all.len() - 1) as u32
    }

    /// The one of that number.
    pub fn get(&mut self, number: u32) -> &mut Ask {
        &mut self.all[number as usize]
    }

    /// Looks at the one of that number.
    pub fn look(&self, number: u32) -> &Ask {
        &self.all[number as usize]
    }

    /// It is over.
    pub fn free(&mut self, number: u32) {
        self.all[number as usize].renew();
        self.free.push(number);
    }
}

/// What a client's connection is in the midst of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// The first octet, which says whether it is the binary protocol.
    #[default]
    First,
    /// The next command.
    Ready,
    /// So many octets are passed over.
    Swallow(u64),
    /// Nothing more is read.
    Closed,
}

/// A client.
#[derive(Debug, Default)]
pub struct Client {
    /// What it asked, in order.
    pub queue: VecDeque<u32>,
    /// What it is in the midst of.
    pub input: Input,
    /// It is among those to be woken.
    pub woken: bool,
    /// Answers at the front of the queue that are being told.
    ready: usize,
    /// Octets of the first answer that were said.
    said: usize,
    /// The first error among the keys of a get, told in place of its end.
    refused: Vec<u8>,
}

impl Client {
    /// Says what is answered, in order, up to `room` octets. Whether there is more, and octets of answers that are
    /// gone from memory.
    pub fn say(&mut self, asks: &mut Asks, mut room: usize, say: &mut dyn FnMut(&[u8])) -> (bool, usize) {
        let mut freed = 0;
        while let Some(number) = self.queue.front().copied() {
            if self.ready == 0 {
                self.ready = self.ready(asks);
            }
            if self.ready == 0 {
                break;
            }
            let ask = asks.get(number);
            self.prepare(ask);
            let piece = (ask.answer.len() - self.said).min(room);
            say(&ask.answer[self.said..self.said + piece]);
            room -= piece;
            self.said += piece;
            if self.said < ask.answer.len() {
                return (true, freed);
            }
            freed += ask.held;
            (self.said, self.ready) = (0, self.ready - 1);
            self.queue.pop_front();
            asks.free(number);
        }
        (false, freed)
    }

    /// How many answers at the front are to be told now: all keys of a get, or so many that they do not wait for the
    /// rest. Servers answer one after the other, and each piece would be a call of the system here and at the client.
    fn ready(&self, asks: &Asks) -> usize {
        let mut octets = 0;
        for (before, number) in self.queue.iter().enumerate().take(TOGETHER_KEYS) {
            let ask = asks.look(*number);
            if !ask.done {
                return 0;
            }
            octets += ask.answer.len();
            if ask.last || octets >= TOGETHER_OCTETS {
                return before + 1;
            }
        }
        self.queue.len().min(TOGETHER_KEYS)
    }

    /// Makes an answer what the client is told of it.
    fn prepare(&mut self, ask: &mut Ask) {
        if core::mem::replace(&mut ask.prepared, true) {
            return;
        }
        if ask.request.asked == Asked::Get {
            if ask.said == Said::Refused {
                if self.refused.is_empty() {
                    self.refused.append(&mut ask.answer);
                }
                ask.answer.clear();
            }
            if ask.last {
                match self.refused.is_empty() {
                    true => ask.answer.extend_from_slice(b"END\r\n"),
                    false => ask.answer.append(&mut self.refused),
                }
            }
        } else if !ask.request.is_told(ask.said, &ask.answer) {
            ask.answer.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client with a get of so many keys, and their numbers.
    fn get(asks: &mut Asks, keys: usize) -> Client {
        let mut client = Client::default();
        for key in 0..keys {
            let number = asks.make();
            let ask = asks.get(number);
            (ask.request.asked, ask.last) = (Asked::Get, key + 1 == keys);
            client.queue.push_back(number);
        }
        client
    }

    fn told(client: &mut Client, asks: &mut Asks, room: usize) -> (String, bool) {
        let mut told = String::new();
        let (more, _) = client.say(asks, room, &mut |octets| told.push_str(&String::from_utf8_lossy(octets)));
        (told, more)
    }

    fn answer(asks: &mut Asks, number: u32, text: &str) {
        let ask = asks.get(number);
        (ask.done, ask.said, ask.answer) = (true, Said::Found, text.as_bytes().to_vec());
    }

    #[test]
    fn a_get_is_told_when_all_of_it_is_here() {
        let mut asks = Asks::default();
        let mut client = get(&mut asks, 3);
        [0, 2].into_iter().for_each(|number| answer(&mut asks, number, &format!("{number};")));
        assert_eq!(told(&mut client, &mut asks, 100), (String::new(), false));
        answer(&mut asks, 1, "1;");
        assert_eq!(told(&mut client, &mut asks, 5), ("0;1;2".to_owned(), true));
        assert_eq!(told(&mut client, &mut asks, 100), (";END\r\n".to_owned(), false));
        assert!(client.queue.is_empty());
    }

    #[test]
    fn what_is_much_does_not_wait_for_the_rest() {
        let mut asks = Asks::default();
        let mut client = get(&mut asks, TOGETHER_KEYS + 2);
        (0..TOGETHER_KEYS as u32 + 1).for_each(|number| answer(&mut asks, number, "x"));
        assert_eq!(told(&mut client, &mut asks, 1000), ("x".repeat(TOGETHER_KEYS), false));
        let mut asks = Asks::default();
        let mut client = get(&mut asks, 3);
        answer(&mut asks, 0, &"y".repeat(TOGETHER_OCTETS));
        assert_eq!(told(&mut client, &mut asks, usize::MAX).0.len(), TOGETHER_OCTETS);
        assert_eq!(client.queue.len(), 2);
    }
}
