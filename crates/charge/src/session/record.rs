//! What several nodes say in the ledger of the records that all of them make.

use super::{Core, Mark};
use crate::account::{Effect, Entry, Recording};
use crate::calendar::Moment;
use crate::gateway::{receiver, sender};

impl Core {
    /// Records are made so from the next entry on; none where they are already. They go on from what one node made
    /// alone, if that was after what is known of: else from the same as before.
    pub fn set_recording(&mut self, recording: Recording, now: Moment) -> Option<Entry> {
        let known = self.state.recorded();
        let before = known.and_then(|known| known.recording.goes_on);
        // A folder of records from before that is a copy that was left behind.
        let newest = known.map_or(0, |known| before.map_or(known.since, |before| before.entry + 1));
        let goes_on = recording.goes_on.filter(|alone| alone.entry >= newest).or(before);
        let recording = Recording { goes_on, ..recording };
        let is_new = known.is_none_or(|known| known.recording != recording);
        is_new.then(|| self.write(vec![Effect::Recording { recording }], now))
    }

    /// Records are on their way to charging gateways up to a place of their files, if it is another one, and their
    /// sender has come to this.
    pub fn forward(&mut self, at: Option<Mark>, sent: Vec<sender::Entry>, now: Moment) -> Entry {
        let at = at.map(|Mark { file, octets }| Effect::Forwarded { file, octets });
        let sent = sent.into_iter().map(|entry| Effect::Sent { entry: Box::new(entry) });
        self.write(at.into_iter().chain(sent).collect(), now)
    }

    /// Records of others came, or what was said of them.
    pub fn receive(&mut self, entries: Vec<receiver::Entry>, now: Moment) -> Entry {
        let received = entries.into_iter().map(|entry| Effect::Received { entry: Box::new(entry) });
        self.write(received.collect(), now)
    }

    /// An entry that says what time it is, and nothing else: what goes by the time of entries goes on.
    pub fn tick(&mut self, now: Moment) -> Entry {
        self.write(Vec::new(), now)
    }

    /// The file of records with this running count ends with what was decided until now.
    pub fn close_file(&mut self, file: u32, closure: u8, now: Moment) -> Entry {
        self.write(vec![Effect::Filed { file, closure }], now)
    }
}
