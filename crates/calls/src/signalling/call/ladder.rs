//! What a closed call gives away of its ladder.

use super::Call;
use smallvec::SmallVec;
use trunkline_store::row::Ladder;

impl Call {
    /// Its ladder. What is as large as usual is copied and its memory kept, what is larger is given away.
    pub(super) fn take_ladder(&mut self, texts: String) -> Ladder {
        let messages = self.messages.take();
        self.names.text.shrink();
        if self.prints.spilled() {
            self.prints = SmallVec::new();
        }
        if self.announced.spilled() {
            self.announced = SmallVec::new();
        }
        self.invites.shrink();
        self.negotiation.shrink();
        self.talk.shrink();
        Ladder { hosts: self.hosts.to_vec(), messages, texts, not_kept: self.not_kept }
    }
}
