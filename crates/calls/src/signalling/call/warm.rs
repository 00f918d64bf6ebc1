//! Reading a little of each line of the cache that will be needed soon: who does so for several calls waits for all of
//! them at once. The sums are of no use but to be made.

use super::Call;

impl Call {
    /// Of what the next message, or the close, will need.
    pub fn warm(&self) -> u64 {
        let hosts = self.hosts.last().map_or(0, |h| u64::from(h.port));
        let prints = self.prints.first().copied().unwrap_or(0) ^ self.files.first().copied().unwrap_or(0);
        let times = self.hash ^ self.bye_ns.unwrap_or(0) as u64 ^ self.answer_ns.unwrap_or(0) as u64;
        let asked = self.dialogs.warm() ^ u64::from(self.reinvites.is_empty());
        hosts ^ u64::from(prints) ^ times ^ asked ^ (self.texts.octets() ^ self.messages.count()) as u64
    }

    /// Of what an INVITE, a CANCEL, and a response that is no 2xx need besides.
    pub fn warm_for_invite(&self) -> u64 {
        self.invites.warm()
    }

    /// Of where the next message goes, when it is known how many there are.
    pub fn warm_further(&self) -> u64 {
        self.messages.warm() ^ self.texts.warm()
    }

    /// Of what a message with SDP needs besides.
    pub fn warm_for_sdp(&self) -> u64 {
        let announced = self.announced.iter().fold(0, |sum, (e, ..)| sum ^ u64::from(e.port));
        announced ^ self.talk.warm() ^ self.negotiation.warm() ^ self.facts.warm()
    }

    /// Of what the memory of a call that is over needs to become another one.
    pub fn warm_to_begin(&self) -> u64 {
        let names = u64::from(self.names.ends[4]) ^ self.start_ns as u64 ^ u64::from(self.dst.port);
        self.warm() ^ self.warm_for_invite() ^ self.warm_for_sdp() ^ names
    }

    /// Of what only the close needs.
    pub fn warm_to_close(&self) -> u64 {
        let messages = self.messages.iter().fold(0, |sum, m| sum ^ m.packet);
        messages ^ self.texts.warm_all() ^ self.names.text.warm_all()
    }
}
