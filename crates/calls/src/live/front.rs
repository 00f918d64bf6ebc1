//! A lane's front: sorts batches as they come, and follows their RTP when the signalling up to then is known.

use super::{Epoch, Item, Report, Told, What};
use crate::lane::{Lane, LaneOutput, MediaPacket};
use crate::ledger::file_of_lane;
use crate::media::{Notice, Numbered, Reassembled};
use crate::signalling::Incoming;
use crate::transport::{TakeMessages, Transport};
use crate::unread::Unread;
use core::iter::Peekable;
use core::ops::ControlFlow;
use std::collections::VecDeque;
use trunkline_capture::{Batch, CaptureLoss, Packet};
use trunkline_kit::counters::Counted;
use trunkline_lane::class::payload;
use trunkline_lane::clock::Leap;
use trunkline_lane::{DecodeCounters, LaneJob, PacketClass, SeenPacket};
use trunkline_wire::icmp::Unreachable;
use trunkline_wire::{Datagram, Decoded, sip};

trunkline_kit::counters! {
    /// What a front counts.
    pub struct FrontCounters {
        /// RTP packets followed before their signalling was known, because the ring filled
        hurried: "trunkline_calls_live_hurried_packets_total",
        /// SIP messages dropped because the owner of the signalling took nothing
        told_overflow: "trunkline_calls_live_messages_overflow_total",
    }
}

/// Whether a datagram that came in fragments belongs to this lane's flows.
pub type IsMine = Box<dyn Fn(&Datagram) -> bool + Send>;

/// RTP of a batch that is not followed yet.
struct Held {
    batch: Batch,
    media: Vec<(u32, Datagram)>,
    next: usize,
}

/// One lane of a live capture, a job of the lane engine.
pub struct Front {
    lane: Lane,
    /// RTP of the batch that is being taken.
    media: Vec<(u32, Datagram)>,
    transport: Transport<Collector>,
    held: VecDeque<Held>,
    spare: Spare,
    is_mine: IsMine,
    unread: Unread,
    counters: FrontCounters,
}

/// Memory of what is done, to be used again.
#[derive(Default)]
struct Spare {
    batches: Vec<Batch>,
    media: Vec<Vec<(u32, Datagram)>>,
}

/// Octets that a lane keeps for an owner who takes nothing. Beyond it messages are dropped and counted: the owner must
/// have been stuck for long.
// Limit: memory of SIP messages that one lane keeps for the analysis
// Beyond: further messages are dropped
// Seen in: `trunkline_calls_live_messages_overflow_total`
pub const TOLD_OCTETS_MAX: usize = 64 << 20;

/// Takes messages down for the owner.
struct Collector {
    told: Told,
    dropped: u64,
}

impl Front {
    /// The front of a lane; `is_mine` says which datagrams, had they come whole, would have come to this lane.
    pub fn new(lane: u16, is_mine: IsMine) -> Self {
        let transport =
            Transport::of(Collector { told: Told { lane, until_ns: i64::MIN, ..Told::default() }, dropped: 0 });
        Front {
            lane: Lane::default(),
            media: Vec::new(),
            transport,
            held: VecDeque::new(),
            spare: Spare::default(),
            is_mine,
            unread: Unread::default(),
            counters: FrontCounters::default(),
        }
    }

    /// Tells media in fragments and in TCP in its place among the messages.
    fn tell_reassembled(&mut self) {
        for numbered in self.transport.take_reassembled() {
            let Numbered { number, notice: Notice::Reassembled(r), .. } = numbered else { continue };
            let Reassembled { at_ns, offset, file, datagram, tcp, .. } = *r;
            let what = What::Reassembled { datagram, tcp };
            let told = &mut self.transport.taker_mut().told;
            told.push(Item { at_ns, number, offset, file, start: 0, length: 0, what }, &r.octets);
        }
    }

    /// Says that packets were lost, wherever that was.
    pub fn lost_elsewhere(&mut self, losses: Vec<CaptureLoss>) {
        self.transport.taker_mut().told.losses.extend(losses);
    }

    /// Is told that the clock was set; the packets that it takes have steady time all the while. Steps are counted from
    /// 1, and the owner hears of each from whichever lane tells it first.
    pub fn clock_was_set(&mut self, leap: Leap) {
        self.transport.taker_mut().told.leaps.push(leap);
    }

    /// What there is to tell the owner. `until_ns` is a time before which no packet will come any more, where the
    /// source knows one that is later than the last packet.
    pub fn tell(&mut self, until_ns: Option<i64>) -> Told {
        let told = &mut self.transport.taker_mut().told;
        told.until_ns = told.until_ns.max(until_ns.unwrap_or(i64::MIN));
        let next = Told { lane: told.lane, until_ns: told.until_ns, ..Told::default() };
        core::mem::replace(told, next)
    }

    /// The last that there is to tell: the lane has ended. Batches are still held until the last epoch.
    pub fn end(&mut self) -> Told {
        self.transport.end_streams();
        self.tell_reassembled();
        Told { last: true, ..self.tell(None) }
    }

    /// Follows RTP up to the epoch's time and hands over what is finished.
    pub fn epoch(&mut self, epoch: &Epoch) -> LaneOutput {
        self.lane.learn(&epoch.leaps);
        let mut news = News {
            epoch,
            notices: epoch.notices.iter().peekable(),
            reports: epoch.rtcp.iter().peekable(),
            is_mine: &self.is_mine,
        };
        while let Some(held) = self.held.front_mut() {
            let until_ns = if epoch.last { i64::MAX } else { epoch.until_ns };
            if !held.follow(&mut self.lane, until_ns, |lane, at_ns| news.up_to(lane, at_ns)) {
                break;
            }
            if let Some(done) = self.held.pop_front() {
                self.spare.keep(done.batch, done.media);
            }
        }
        news.up_to(&mut self.lane, i64::MAX);
        if epoch.last {
            self.lane.finish();
        } else {
            self.lane.tick(epoch.until_ns);
        }
        LaneOutput { lane: Some(self.transport.taker().told.lane), ..self.lane.poll() }
    }

    /// Batches that wait for the signalling.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Follows the oldest batch without waiting for what signalling says about it.
    pub fn hurry(&mut self) {
        let Some(mut held) = self.held.pop_front() else { return };
        self.counters.hurried += (held.media.len() - held.next) as u64;
        held.follow(&mut self.lane, i64::MAX, |_, _| {});
        self.spare.keep(held.batch, held.media);
    }

    /// What was seen so far and is not analysed.
    pub fn unread(&self) -> Unread {
        let mut all = self.unread.clone();
        all.add(self.transport.unread());
        all.set_without_stream(self.lane.counters.unclaimed);
        all
    }

    /// What was counted so far.
    pub fn counters(&self) -> Vec<Counted> {
        let counters = FrontCounters { told_overflow: self.transport.taker().dropped, ..self.counters };
        let mut all = counters.list();
        all.extend(self.transport.counters());
        all.extend(self.lane.counters.list());
        all
    }
}

impl LaneJob for Front {
    #[inline]
    fn take(&mut self, seen: &mut SeenPacket<'_>) -> ControlFlow<()> {
        let aside = self.unread.see(seen.packet, seen.class, seen.decoded, seen.octets);
        let told = &mut self.transport.taker_mut().told;
        told.until_ns = told.until_ns.max(seen.steady_ns);
        match (seen.class, seen.decoded) {
            (PacketClass::Rtp, Decoded::Udp(datagram)) => self.media.push((seen.at, *datagram)),
            (PacketClass::OtherUdp, Decoded::Udp(datagram)) if aside => self.media.push((seen.at, *datagram)),
            (PacketClass::Rtcp, Decoded::Udp(datagram)) => {
                told.push(item(&seen.steady(), What::Rtcp(*datagram)), seen.payload(datagram));
            }
            (PacketClass::Signalling, decoded) | (_, decoded @ Decoded::Icmp(_)) => {
                self.transport.packet(&seen.steady(), decoded, seen.octets);
                self.tell_reassembled();
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    /// RTP is followed when the signalling up to then is known: until then its batch is held.
    fn keep(&mut self, batch: Batch, counted: &DecodeCounters) -> Option<Batch> {
        self.transport.taker_mut().told.counters.add(counted);
        if self.media.is_empty() {
            return Some(batch);
        }
        let next = self.spare.media.pop().unwrap_or_default();
        self.held.push_back(Held { batch, media: core::mem::replace(&mut self.media, next), next: 0 });
        None
    }

    fn spare(&mut self) -> Option<Batch> {
        self.spare.batches.pop()
    }

    /// Rows name the lane as the place of what its source lost.
    fn lost(&mut self, loss: &CaptureLoss) {
        let told = &mut self.transport.taker_mut().told;
        told.losses.push(CaptureLoss { file: file_of_lane(told.lane), ..*loss });
    }
}

impl Spare {
    /// A block of a ring goes back to the kernel.
    fn keep(&mut self, mut batch: Batch, mut media: Vec<(u32, Datagram)>) {
        batch.clear();
        media.clear();
        self.batches.push(batch);
        self.media.push(media);
    }
}

impl Held {
    /// Follows packets up to a time; `before` is called before each with its time. Whether none is left.
    fn follow(&mut self, lane: &mut Lane, until_ns: i64, mut before: impl FnMut(&mut Lane, i64)) -> bool {
        while let Some((at, datagram)) = self.media.get(self.next) {
            let Some(packet) = self.batch.packets.get(*at as usize) else { break };
            if packet.at_ns > until_ns {
                return false;
            }
            before(lane, packet.at_ns);
            let Packet { at_ns, number, offset, file, .. } = *packet;
            let payload = payload(datagram, self.batch.octets_of(packet));
            lane.rtp(&MediaPacket { at_ns, number, offset, file, datagram, payload });
            self.next += 1;
        }
        true
    }
}

/// What an epoch says, in order of time.
struct News<'e, N: Iterator<Item = &'e Numbered>, R: Iterator<Item = &'e Report>> {
    epoch: &'e Epoch,
    notices: Peekable<N>,
    reports: Peekable<R>,
    is_mine: &'e IsMine,
}

impl<'e, N: Iterator<Item = &'e Numbered>, R: Iterator<Item = &'e Report>> News<'e, N, R> {
    /// Gives a lane everything up to a time.
    fn up_to(&mut self, lane: &mut Lane, at_ns: i64) {
        while let Some(report) = self.reports.next_if(|r| r.item.at_ns <= at_ns) {
            self.notices_up_to(lane, report.item.at_ns);
            let Item { at_ns, number, offset, file, start, length, .. } = report.item;
            let payload = self.epoch.octets.get(start as usize..(start + length) as usize).unwrap_or_default();
            lane.rtcp(&MediaPacket { at_ns, number, offset, file, datagram: &report.datagram, payload });
        }
        self.notices_up_to(lane, at_ns);
    }

    fn notices_up_to(&mut self, lane: &mut Lane, at_ns: i64) {
        while let Some(n) = self.notices.next_if(|n| n.at_ns <= at_ns) {
            if n.notice.flow().is_none_or(|flow| (self.is_mine)(&flow)) {
                lane.notice(n.number, &n.notice);
            }
        }
    }
}

fn item(packet: &Packet, what: What) -> Item {
    let Packet { at_ns, number, offset, file, .. } = *packet;
    Item { at_ns, number, offset, file, start: 0, length: 0, what }
}

impl Collector {
    fn push(&mut self, from: &Incoming<'_>, whole: bool) {
        let Incoming { at_ns, number, offset, file, src, dst, stream, cut, octets } = *from;
        if self.told.octets.len() + octets.len() > TOLD_OCTETS_MAX {
            self.dropped += 1;
            return;
        }
        let what = What::Message { src, dst, stream, cut, whole };
        self.told.push(Item { at_ns, number, offset, file, start: 0, length: 0, what }, octets);
    }
}

impl TakeMessages for Collector {
    fn handle(&mut self, from: &Incoming<'_>) {
        self.push(from, !from.cut);
    }

    fn unreachable(&mut self, packet: &Packet, what: &Unreachable) {
        self.told.push(item(packet, What::Unreachable(*what)), &[]);
    }

    fn message(&mut self, from: &Incoming<'_>, message: &sip::Message<'_>) {
        self.push(from, !message.oddities().contains(sip::Oddity::Cut));
    }
}
