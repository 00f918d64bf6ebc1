//! What several nodes say in the ledger of the records that all of them make.

use super::Core;
use crate::account::{Effect, Entry, Recording};
use crate::calendar::Moment;

impl Core {
    /// Records are made so from the next entry on; none where they are already, and are not to go on from what one node
    /// made alone meanwhile.
    pub fn set_recording(&mut self, recording: Recording, now: Moment) -> Option<Entry> {
        let known = self.state.recorded().map(|recorded| &recorded.recording);
        let is_new = recording.goes_on
            || known != Some(&Recording { goes_on: known.is_some_and(|k| k.goes_on), ..recording.clone() });
        is_new.then(|| self.write(vec![Effect::Recording { recording }], now))
    }

    /// The file of records with this running count ends with what was decided until now.
    pub fn close_file(&mut self, file: u32, closure: u8, now: Moment) -> Entry {
        self.write(vec![Effect::Filed { file, closure }], now)
    }
}
