//! The owner of the signalling: merges what lanes tell by time and makes epochs of it.

use super::{Epoch, Item, Report, Told, What};
use crate::media::{Notice, Numbered, Reassembled};
use crate::signalling::{CallUp, Incoming, Output, Signalling, Standing};
use crate::transport::GROUP;
use std::collections::VecDeque;
use trunkline_capture::CaptureLoss;
use trunkline_kit::counters::Counted;
use trunkline_lane::DecodeCounters;
use trunkline_lane::clock::Leap;
use trunkline_wire::sip;

trunkline_kit::counters! {
    /// What the owner counts.
    pub struct OwnerCounters {
        /// epochs given out
        epochs: "trunkline_calls_live_epochs_total",
        /// messages that came after their epoch was over, and were taken late
        late: "trunkline_calls_live_late_messages_total",
        /// times the clock was set while packets went on
        clock_set: "trunkline_calls_clock_set_total",
    }
}

/// What a lane told and was not taken yet.
#[derive(Default)]
struct Waiting {
    told: VecDeque<Told>,
    /// Items of the first that are taken.
    taken: usize,
    until_ns: Option<i64>,
    ended: bool,
}

/// All signalling of a live capture.
pub struct Owner {
    signalling: Signalling,
    lanes: Vec<Waiting>,
    losses: Vec<CaptureLoss>,
    /// Steps of the clock that the lanes do not know yet, and the number of the last.
    leaps: Vec<Leap>,
    leaps_told: u64,
    counts: DecodeCounters,
    until_ns: i64,
    next: u64,
    ended: bool,
    /// What was not closed when the capture ended, before it was closed therefore.
    last: Option<Standing>,
    counters: OwnerCounters,
}

/// What an epoch is, for lanes and for the gatherer.
pub struct Owned {
    /// For every lane.
    pub epoch: Epoch,
    /// For the gatherer.
    pub output: Output,
    /// Losses reported in it.
    pub losses: Vec<CaptureLoss>,
    /// What decoding counted in it.
    pub counters: DecodeCounters,
}

impl Owner {
    /// An owner for so many lanes.
    pub fn new(lanes: usize) -> Self {
        Owner {
            signalling: Signalling::default(),
            lanes: (0..lanes).map(|_| Waiting::default()).collect(),
            losses: Vec::new(),
            leaps: Vec::new(),
            leaps_told: 0,
            counts: Default::default(),
            until_ns: i64::MIN,
            next: 0,
            ended: false,
            last: None,
            counters: OwnerCounters::default(),
        }
    }

    /// Takes what a lane told; nothing of an unknown lane.
    pub fn tell(&mut self, mut told: Told) {
        let Some(lane) = self.lanes.get_mut(usize::from(told.lane)) else { return };
        lane.until_ns = lane.until_ns.max(Some(told.until_ns));
        lane.ended |= told.last;
        self.losses.append(&mut told.losses);
        self.counts.add(&told.counters);
        for leap in told.leaps.drain(..) {
            if leap.number > self.leaps_told {
                self.leaps_told = leap.number;
                self.counters.clock_set += 1;
                self.signalling.learn(&[leap]);
                self.leaps.push(leap);
            }
        }
        if !told.items.is_empty() {
            lane.told.push_back(told);
        }
    }

    /// The time up to which every lane has told everything; none while one of them has not told anything.
    fn told_until(&self) -> Option<i64> {
        let open = self.lanes.iter().filter(|l| !l.ended).map(|l| l.until_ns).min();
        open.unwrap_or_else(|| self.lanes.iter().map(|l| l.until_ns).max().flatten())
    }

    /// Whether all lanes have ended: the next epoch is the last.
    pub fn is_ending(&self) -> bool {
        !self.ended && self.lanes.iter().all(|l| l.ended)
    }

    /// Calls that are not closed.
    pub fn calls(&self) -> u64 {
        self.signalling.open_calls()
    }

    /// Calls that have not ended.
    pub fn calls_up(&self) -> u64 {
        self.signalling.calls_up()
    }

    /// The newest of them: [`Signalling::newest_up`].
    pub fn newest_up(&self, limit: usize) -> Vec<CallUp> {
        self.signalling.newest_up(limit)
    }

    /// What is not closed by the epochs that were given out: [`Signalling::standing`].
    pub fn standing(&self) -> Standing {
        self.signalling.standing(self.until_ns)
    }

    /// What was not closed when the capture ended, with all that it held; none before.
    pub fn last_standing(&self) -> Option<Standing> {
        self.last.clone()
    }

    /// Epochs that were given out.
    pub fn epochs(&self) -> u64 {
        self.next
    }

    /// The next epoch, if time has gone on since the last one, or `anyway`: where a clock was set back, packets of
    /// times that are over must not wait until it has caught up. After the last epoch there is none.
    pub fn advance(&mut self, anyway: bool) -> Option<Owned> {
        let ended = self.is_ending();
        let until_ns = self.told_until()?;
        if self.ended || (until_ns <= self.until_ns && !ended && !anyway) {
            return None;
        }
        let mut epoch = Epoch { number: self.next, last: ended, ..Epoch::default() };
        self.next += 1;
        self.counters.epochs += 1;
        epoch.leaps = core::mem::take(&mut self.leaps);
        self.merge(if ended { i64::MAX } else { until_ns }, &mut epoch);
        self.until_ns = self.until_ns.max(until_ns);
        epoch.until_ns = self.until_ns;
        self.ended = ended;
        if ended {
            self.last = Some(self.standing());
            self.signalling.finish();
        } else {
            self.signalling.tick(self.until_ns);
        }
        let mut output = self.signalling.poll();
        epoch.notices.append(&mut output.notices);
        // What signalling told is in order; datagrams from fragments lie between.
        epoch.notices.sort_by_key(|n| n.at_ns);
        Some(Owned {
            epoch,
            output,
            losses: core::mem::take(&mut self.losses),
            counters: core::mem::take(&mut self.counts),
        })
    }

    /// Takes what was told up to a time, in order of time.
    fn merge(&mut self, until_ns: i64, epoch: &mut Epoch) {
        loop {
            let Some((lane, run)) = self.next_run(until_ns) else { return };
            let waiting = &mut self.lanes[lane];
            let Some(told) = waiting.told.front() else { return };
            let items = &told.items[waiting.taken..waiting.taken + run];
            self.counters.late += items.iter().filter(|i| i.at_ns < self.until_ns).count() as u64;
            take(&mut self.signalling, told, items, epoch);
            waiting.taken += run;
            if waiting.taken == told.items.len() {
                waiting.told.pop_front();
                waiting.taken = 0;
            }
        }
    }

    /// The lane whose turn it is, and how many of its items come before those of any other.
    fn next_run(&self, until_ns: i64) -> Option<(usize, usize)> {
        let mut heads: Vec<(i64, usize)> = Vec::with_capacity(self.lanes.len());
        for (at, lane) in self.lanes.iter().enumerate() {
            if let Some(item) = lane.told.front().and_then(|t| t.items.get(lane.taken)) {
                heads.push((item.at_ns, at));
            }
        }
        heads.sort_unstable();
        let &(first_ns, lane) = heads.first()?;
        if first_ns > until_ns {
            return None;
        }
        let bound = heads.get(1).map_or((i64::MAX, usize::MAX), |h| *h);
        let waiting = &self.lanes[lane];
        let items = &waiting.told.front()?.items[waiting.taken..];
        let run = items.iter().take_while(|i| i.at_ns <= until_ns && (i.at_ns, lane) <= bound).count();
        Some((lane, run.max(1)))
    }

    /// What was counted so far.
    pub fn counters(&self) -> Vec<Counted> {
        let mut all = self.counters.list();
        all.extend(self.signalling.counters.list());
        all
    }

    /// The signalling behind it.
    pub fn signalling(&self) -> &Signalling {
        &self.signalling
    }
}

/// Hands a run of one lane's items to where they belong.
fn take(signalling: &mut Signalling, told: &Told, items: &[Item], epoch: &mut Epoch) {
    for some in items.chunks(GROUP) {
        let mut group: Vec<(Incoming<'_>, sip::Message<'_>)> = Vec::with_capacity(GROUP);
        for item in some {
            let octets = told.octets_of(item);
            match item.what {
                What::Message { src, dst, stream, cut, whole } => {
                    let Item { at_ns, number, offset, file, .. } = *item;
                    let incoming = Incoming { at_ns, number, offset, file, src, dst, stream, cut, octets };
                    group.push((incoming, sip::Message::blank()));
                    if !group.last_mut().is_some_and(|(_, message)| message.scan(octets, whole)) {
                        group.pop();
                    }
                }
                What::Rtcp(datagram) => {
                    let start = epoch.octets.len() as u32;
                    epoch.octets.extend_from_slice(octets);
                    epoch.rtcp.push(Report { item: Item { start, ..*item }, datagram });
                }
                What::Unreachable(what) => {
                    // A message in hand is older.
                    signalling.messages(&mut group);
                    signalling.unreachable(&what, item.at_ns, item.number);
                }
                What::Reassembled { datagram, tcp } => {
                    let Item { at_ns, number, offset, file, .. } = *item;
                    let whole = Reassembled { at_ns, offset, file, datagram, octets: octets.to_vec(), tcp };
                    let notice = Notice::Reassembled(Box::new(whole));
                    epoch.notices.push(Numbered { number, at_ns, notice });
                }
            }
        }
        signalling.messages(&mut group);
    }
}
