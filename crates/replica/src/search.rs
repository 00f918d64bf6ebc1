//! Where a record begins on the stream: the first records of messages never fall, so halving finds it.

use crate::message::Message;

/// A search between the ends of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    number: u64,
    first: u64,
    /// All messages before `low` begin with an earlier record; none from `high` on does.
    low: u64,
    high: u64,
    /// The message at `high` begins with the beginning of the record.
    exact: bool,
}

impl Search {
    /// For a record, among the messages from one place to another.
    pub fn new(number: u64, first: u64, last: u64) -> Search {
        Search { number, first, low: first, high: last + 1, exact: false }
    }

    /// The place of the message to look at; none if it is found.
    pub fn next(&self) -> Option<u64> {
        (self.low < self.high).then(|| self.low + (self.high - self.low) / 2)
    }

    /// What stands at that place.
    pub fn saw(&mut self, place: u64, message: &Message<'_>) {
        if message.first() < self.number {
            self.low = place + 1;
        } else {
            let begins = !matches!(message, Message::Records(records) if records.before > 0);
            (self.high, self.exact) = (place, message.first() == self.number && begins);
        }
    }

    /// The place behind which the stream is to be read; none if the record's beginning is gone.
    pub fn behind(&self) -> Option<u64> {
        match self.low {
            // With the message before, in which it begins or others that are known end.
            low if low > self.first => Some((low - if self.exact { 1 } else { 2 }).max(self.first - 1)),
            low if self.exact => Some(low - 1),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publisher::Publisher;
    use crate::terms::Terms;

    #[test]
    fn every_record_is_found_with_its_beginning() {
        let mut publisher = Publisher::new(Terms::begin(7, 0, 1), "north", 0, 1024);
        let lengths = [10, 3000, 5, 5, 700, 700, 2500, 1];
        for (at, length) in lengths.iter().enumerate() {
            publisher.append([vec![at as u8; *length].as_slice()].into_iter());
            publisher.beat();
        }
        let messages: Vec<Vec<u8>> =
            std::iter::from_fn(|| publisher.poll().map(|publish| publish.octets.to_vec())).collect();
        for gone in 0..messages.len() as u64 {
            for number in 1..=lengths.len() as u64 + 1 {
                let mut search = Search::new(number, gone + 1, messages.len() as u64);
                while let Some(place) = search.next() {
                    search.saw(place, &Message::new(&messages[place as usize - 1]).unwrap());
                }
                let begins = |at: usize| match Message::new(&messages[at]).unwrap() {
                    Message::Records(records) => {
                        let (mut found, mut first) = (false, records.before == 0);
                        records.each(|part| {
                            found = found || (part.number == number && first);
                            first = true;
                        });
                        found
                    }
                    Message::Leader { .. } => false,
                };
                let place = (gone as usize..messages.len()).find(|at| begins(*at)).map(|at| at as u64 + 1);
                let is_next = number > lengths.len() as u64;
                match search.behind() {
                    Some(behind) => {
                        assert!(behind >= gone && place.is_none_or(|place| behind < place && behind + 3 >= place))
                    }
                    None => assert!(place.is_none() && !is_next, "record {number} without {gone} messages"),
                }
                assert!(place.is_none() || search.behind().is_some());
            }
        }
    }
}
