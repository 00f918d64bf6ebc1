//! The end of a call: it leaves the maps, and its slot is free.

use super::{SPARE_MAX, Signalling};
use crate::media::{Notice, Numbered};

impl Signalling {
    pub(super) fn close_nearest(&mut self) {
        while let Some((_, serial, at)) = self.deadlines.pop() {
            if self.slots[at as usize].serial == serial {
                return self.close(at);
            }
        }
    }

    pub(super) fn close(&mut self, at: u32) {
        let Some(mut call) = core::mem::take(&mut self.slots[at as usize]).call else { return };
        if let Ok(entry) = self.by_call_id.find_entry(call.hash, |known| known.at == at) {
            entry.remove();
        }
        self.free.push(at);
        self.up.turn(call.until_ns().is_none(), false);
        let serial = call.serial;
        if call.announces {
            let (number, at_ns) = (self.number, self.now_ns);
            self.output.notices.push(Numbered { number, at_ns, notice: Notice::Release { serial } });
        }
        self.counters.invites_overflow += u64::from(call.invites_not_followed());
        if let Some(flows) = &self.unreached {
            call.note_unreached(flows);
        }
        call.facts.responses_pass = self.first_response_ns <= call.deadline_ns;
        self.counters.numbers_overflow += u64::from(call.numbers_not_kept());
        let closed = call.close();
        self.counters.ladder_overflow += u64::from(closed.call.ladder.not_kept);
        self.output.closed.push(closed);
        if self.spare.len() < SPARE_MAX {
            self.spare.push(call);
        }
    }
}
