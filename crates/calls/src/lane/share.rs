//! Streams that are kept with one call and belong to another one as well.

use super::{Finished, Lane};
use crate::media::Serial;
use trunkline_kit::Id;
use trunkline_store::row::Direction;
use trunkline_wire::Endpoint;

/// A stream that is kept with one call and belongs to another one as well, whose SDP names both its endpoints: a
/// back-to-back user agent that does not touch media announces the same ones in both its calls.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The other call.
    pub serial: Serial,
    /// Who of the other call sends it.
    pub sender: Direction,
    /// The call that has it.
    pub call: Id,
    /// The stream as it is up to then.
    pub finished: Box<Finished>,
}

impl Shared {
    /// That a call's stream belongs to another call, too, and who of that sends it.
    pub(super) fn new((serial, sender): (Serial, Direction), finished: &Finished) -> Option<Shared> {
        let call = finished.stream.call?;
        Some(Shared { serial, sender, call, finished: Box::new(finished.clone()) })
    }
}

impl Lane {
    /// Tells what a call that is closed has a part in, of streams that other calls keep.
    pub(super) fn share(&mut self, serial: Serial) {
        for (at, sender) in self.directory.shared_by(serial, |at| self.key(at)) {
            let Some(tracked) = self.streams[at as usize].as_deref() else { continue };
            let mut finished = tracked.finished();
            if let Some(aside) = self.aside.as_deref() {
                finished.stream.encrypted |= aside.secures(tracked);
                finished.evidence.turn = aside.in_turn(&tracked.key);
                finished.evidence.tcp = aside.over_tcp.of(&tracked.key);
            }
            self.output.shared.extend(Shared::new((serial, sender), &finished));
        }
        self.share_faxes(serial);
    }

    fn key(&self, at: u32) -> Option<(Endpoint, Endpoint)> {
        self.streams.get(at as usize)?.as_deref().map(|tracked| (tracked.key.from, tracked.key.to))
    }

    /// The same of faxes, and of the call's own ones who else has a part in them.
    fn share_faxes(&mut self, serial: Serial) {
        let Some(aside) = self.aside.as_deref().filter(|aside| aside.has_faxes()) else { return };
        let directory = &self.directory;
        let shared = &mut self.output.shared;
        for [from, to] in aside.faxes_of(serial) {
            let others = directory.others(serial, from, to);
            if let Some((_, finished)) = aside.fax(&[*from, *to]).filter(|_| !others.is_empty()) {
                shared.extend(others.into_iter().filter_map(|other| Shared::new(other, &finished)));
            }
        }
        for [from, to] in directory.pairs(serial) {
            if let Some((owner, finished)) = aside.fax(&[from, to]).filter(|(owner, _)| *owner != serial) {
                let sender = directory.shares(serial, owner, &from, &to);
                shared.extend(sender.and_then(|sender| Shared::new((serial, sender), &finished)));
            }
        }
    }
}
