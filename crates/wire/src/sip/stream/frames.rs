//! SIP inside WebSocket (RFC 7118): one SIP message per WebSocket message.

use super::{Counts, Framed, Input, MESSAGE_OCTETS_MAX, Stamp, framed};
use crate::sip::{looks_like_sip, scan};
use crate::websocket::{Frame, NoFrame, begins_with_sip, unmask};

/// WebSocket messages without SIP after which a connection that never carried any is given up.
const OTHERS_MAX: u32 = 4;

/// The state between pushes.
pub(super) struct Frames<T> {
    /// The frame whose payload is being read, and how much of it came and is still to come, octets.
    frame: Option<Frame>,
    taken: u64,
    left: u64,
    /// The message so far, unmasked, and the push that began it.
    message: Vec<u8>,
    begun: Option<Stamp<T>>,
    /// Whether octets of the message are missing, so that the rest of it is of no use.
    damaged: bool,
    /// Whether the place in the stream is not known, so that the next frame has to be looked for.
    lost: bool,
    /// Whether SIP was announced or seen.
    sip: bool,
    /// Messages that were not SIP.
    others: u32,
}

impl<T: Copy> Frames<T> {
    pub(super) fn new() -> Self {
        Frames {
            frame: None,
            taken: 0,
            left: 0,
            message: Vec::new(),
            begun: None,
            damaged: false,
            lost: false,
            sip: false,
            others: 0,
        }
    }

    /// SIP was announced or seen: the connection is not given up any more.
    pub(super) fn expect_sip(&mut self) {
        self.sip = true;
    }

    /// Whether the connection carries something else.
    pub(super) fn is_hopeless(&self) -> bool {
        !self.sip && self.others >= OTHERS_MAX
    }

    pub(super) fn held_octets(&self) -> usize {
        self.message.len()
    }

    /// Works through octets from `at`; gives how many are done with.
    pub(super) fn consume(
        &mut self,
        input: &Input<'_, T>,
        mut at: usize,
        counts: &mut Counts,
        sink: &mut impl FnMut(Framed<'_, T>),
    ) -> usize {
        if self.lost && !begins_with_sip(&input.octets[at..]) {
            counts.junk_octets += (input.octets.len() - at) as u64;
            return input.octets.len();
        }
        self.lost = false;
        while at < input.octets.len() {
            let Some(frame) = self.frame else {
                match Frame::parse(&input.octets[at..]) {
                    Ok(frame) => {
                        self.begin(frame, input.stamp_at(at), counts);
                        at += frame.header_octets;
                        self.end_if_complete(input, counts, sink);
                    }
                    Err(NoFrame::More) => return at,
                    Err(NoFrame::Invalid) => {
                        self.lose();
                        counts.junk_octets += (input.octets.len() - at) as u64;
                        return input.octets.len();
                    }
                }
                continue;
            };
            let n = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.octets.len() - at);
            let payload = &input.octets[at..at + n];
            at += n;
            if self.is_whole(frame, n) {
                // Lies whole in these octets and is not masked: nothing to copy.
                self.frame = None;
                self.left = 0;
                self.give(payload, true, self.begun.unwrap_or(input.now), input.now, counts, sink);
            } else {
                self.take(frame, payload);
                self.end_if_complete(input, counts, sink);
            }
        }
        at
    }

    fn is_whole(&self, frame: Frame, available: usize) -> bool {
        frame.fin
            && !frame.opcode.is_control()
            && frame.mask.is_none()
            && self.taken == 0
            && self.left == available as u64
            && self.message.is_empty()
            && !self.damaged
    }

    fn begin(&mut self, frame: Frame, stamp: Stamp<T>, counts: &mut Counts) {
        use crate::websocket::Opcode::{Binary, Text};
        if matches!(frame.opcode, Text | Binary) {
            self.message.clear();
            self.begun = Some(stamp);
            self.damaged = frame.compressed;
            counts.compressed_frames += u64::from(frame.compressed);
        }
        self.frame = Some(frame);
        self.taken = 0;
        self.left = frame.payload_octets;
    }

    /// Adds octets of a payload to the message.
    fn take(&mut self, frame: Frame, payload: &[u8]) {
        let offset = self.taken;
        self.taken += payload.len() as u64;
        self.left -= payload.len() as u64;
        if frame.opcode.is_control() || self.damaged {
            return;
        }
        let room = MESSAGE_OCTETS_MAX.saturating_sub(self.message.len()).min(payload.len());
        let start = self.message.len();
        self.message.extend_from_slice(&payload[..room]);
        if let Some(mask) = frame.mask {
            unmask(&mut self.message[start..], mask, offset);
        }
    }

    fn end_if_complete(&mut self, input: &Input<'_, T>, counts: &mut Counts, sink: &mut impl FnMut(Framed<'_, T>)) {
        let Some(frame) = self.frame.filter(|_| self.left == 0) else { return };
        self.frame = None;
        if frame.fin && !frame.opcode.is_control() {
            let message = std::mem::take(&mut self.message);
            if !self.damaged {
                let whole = message.len() < MESSAGE_OCTETS_MAX;
                counts.overlong += u64::from(!whole);
                self.give(&message, whole, self.begun.unwrap_or(input.now), input.now, counts, sink);
            }
            self.damaged = false;
        }
    }

    fn give(
        &mut self,
        octets: &[u8],
        whole: bool,
        begun: Stamp<T>,
        now: Stamp<T>,
        counts: &mut Counts,
        sink: &mut impl FnMut(Framed<'_, T>),
    ) {
        match scan(octets, whole) {
            Some(message) => {
                self.sip = true;
                counts.messages += 1;
                counts.cut += u64::from(!whole);
                sink(framed(message, begun, now, true));
            }
            None if octets.iter().all(|o| matches!(o, b'\r' | b'\n')) => {
                counts.keep_alive_octets += octets.len() as u64
            }
            None => {
                self.others = self.others.saturating_add(1);
                counts.junk_octets += octets.len() as u64;
            }
        }
    }

    /// Octets are missing: how many, or 0 if that is not known.
    pub(super) fn gap(
        &mut self,
        octets: u64,
        now: Stamp<T>,
        counts: &mut Counts,
        sink: &mut impl FnMut(Framed<'_, T>),
    ) {
        let message = std::mem::take(&mut self.message);
        if !self.damaged && looks_like_sip(&message) {
            self.give(&message, false, self.begun.unwrap_or(now), now, counts, sink);
        }
        self.damaged = true;
        match self.frame {
            Some(_) if octets > 0 && octets < self.left => {
                self.left -= octets;
                self.taken += octets;
            }
            // A gap that ends with the frame leaves the next octet at a frame's beginning.
            Some(_) if octets > 0 && octets == self.left => self.frame = None,
            _ => self.lose(),
        }
    }

    fn lose(&mut self) {
        self.frame = None;
        self.left = 0;
        self.lost = true;
        self.damaged = true;
        self.message = Vec::new();
    }
}
