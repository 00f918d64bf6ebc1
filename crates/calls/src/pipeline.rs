//! How threads share the work of reading, with the same result for any number of them.
//!
//! A batch of packets goes through four steps: *decode* (any thread, any order), *signal* (one batch after the other:
//! SIP needs all that came before), *lane* (each thread its own lane, one batch after the other) and *join* (one after
//! the other). A thread takes the step nearest to the end that is ready, so that one thread alone walks each batch
//! through all steps while it is in the cache, and several keep each other fed. See docs/decisions/0010.

use crate::classify::{Class, classify, lane_of};
use crate::clock::{Leap, Watch};
use crate::job::{FileSummary, Progress, Sink, Summary};
use crate::join::{Joined, Joiner, Names};
use crate::lane::{Lane, LaneOutput, MediaPacket};
use crate::limits::BATCHES_PER_THREAD_MAX;
use crate::media::Numbered;
use crate::signalling::{Output, Signalling};
use crate::transport::{GROUP, Transport};
use crate::unread::Unread;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use trunkline_capture::{Batch, FileSource, Packet};
use trunkline_wire::rtcp::Packets;
use trunkline_wire::{Datagram, Decoded, Layer};

trunkline_kit::counters! {
    /// What decoding counts.
    pub struct DecodeCounters {
        /// packets looked at
        packets: "trunkline_calls_packets_total",
        /// UDP datagrams
        udp: "trunkline_calls_udp_packets_total",
        /// TCP segments
        tcp: "trunkline_calls_tcp_packets_total",
        /// SCTP packets
        sctp: "trunkline_calls_sctp_packets_total",
        /// fragments of IP datagrams
        fragments: "trunkline_calls_fragments_total",
        /// RTCP packets (each of a compound)
        rtcp: "trunkline_calls_rtcp_packets_total",
        /// packets of other protocols
        other: "trunkline_calls_other_packets_total",
        /// packets whose link or inner protocol is not known
        unknown: "trunkline_calls_unknown_packets_total",
        /// packets with a broken link header
        malformed_link: "trunkline_calls_malformed_link_total",
        /// packets with a broken shim header (VLAN, MPLS, PPPoE)
        malformed_shim: "trunkline_calls_malformed_shim_total",
        /// packets with a broken network header
        malformed_network: "trunkline_calls_malformed_network_total",
        /// packets with a broken tunnel header
        malformed_tunnel: "trunkline_calls_malformed_tunnel_total",
        /// packets with a broken transport header
        malformed_transport: "trunkline_calls_malformed_transport_total",
    }
}

#[derive(Clone, Copy)]
struct MediaItem {
    packet: u32,
    datagram: Datagram,
}

/// A batch with what decoding made of it.
#[derive(Default)]
struct Work {
    batch: Batch,
    signalling: Vec<(u32, Decoded)>,
    media: Vec<Vec<MediaItem>>,
    rtcp: Vec<MediaItem>,
    counters: DecodeCounters,
    unread: Unread,
    /// What is to be taken off the times of its first packets, and where that changes.
    offset_ns: i64,
    leaps: Vec<Leap>,
    /// The latest time of the input up to here.
    now_ns: i64,
    last: bool,
}

/// A batch on its way, with what later steps add.
struct InFlight {
    work: Work,
    signalled: OnceLock<(Vec<Numbered>, Mutex<Output>)>,
    lanes: Mutex<Vec<Option<LaneOutput>>>,
}

struct State {
    /// From the oldest that is not joined; none while it is being decoded.
    in_flight: VecDeque<Option<Arc<InFlight>>>,
    base: u64,
    next_signal: u64,
    next_lane: Vec<u64>,
    reading: bool,
    signalling: bool,
    joining: bool,
    ended: bool,
    error: Option<String>,
    lanes_done: Vec<crate::lane::LaneCounters>,
}

enum Task {
    Read,
    Signal(Arc<InFlight>),
    Lane(Arc<InFlight>),
    Join(Arc<InFlight>),
    Wait,
    Exit,
}

struct Reader<'a> {
    source: FileSource,
    clock: Watch,
    tap: Option<Tap<'a>>,
}

/// Sees every packet in order, with what it turned out to be, before anything is made of it; it may set where the
/// packet's record lies (`file` and `offset`), as a recorder does, and says whether anything is made of it at all. Then
/// decoding is one batch after the other.
pub type Tap<'a> = Box<dyn FnMut(&mut Packet, &[u8], &Decoded, Class) -> bool + Send + 'a>;

/// The reading of some files.
pub struct Pipeline<'a> {
    threads: usize,
    reader: Mutex<Reader<'a>>,
    transport: Mutex<Transport<Signalling>>,
    joiner: Mutex<Joiner<'a>>,
    state: Mutex<State>,
    wake: Condvar,
    pool: Mutex<Vec<Work>>,
    progress: &'a Progress,
}

impl<'a> Pipeline<'a> {
    /// A pipeline of `threads` lanes; `names` are the files' names for the rows.
    pub fn new(
        source: FileSource,
        names: Vec<String>,
        threads: usize,
        sink: &'a mut dyn Sink,
        progress: &'a Progress,
    ) -> Self {
        let threads = threads.max(1);
        progress.octets_total.store(source.octets_total(), Ordering::Relaxed);
        Pipeline {
            threads,
            reader: Mutex::new(Reader { source, clock: Watch::default(), tap: None }),
            transport: Mutex::new(Transport::default()),
            joiner: Mutex::new(Joiner::new(Arc::new(names), sink)),
            state: Mutex::new(State {
                in_flight: VecDeque::new(),
                base: 0,
                next_signal: 0,
                next_lane: vec![0; threads],
                reading: false,
                signalling: false,
                joining: false,
                ended: false,
                error: None,
                lanes_done: Vec::new(),
            }),
            wake: Condvar::new(),
            pool: Mutex::new(Vec::new()),
            progress,
        }
    }

    /// The same, with a tap on the way of the packets; `names` are then those of what the tap sets as their file.
    pub fn tapped(self, tap: Tap<'a>, names: Arc<dyn Names>) -> Self {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).tap = Some(tap);
        self.joiner.lock().unwrap_or_else(PoisonError::into_inner).rename(names);
        self
    }

    /// Reads to the end.
    ///
    /// # Errors
    /// What the sink said when it refused rows.
    pub fn run(self) -> Result<Summary, String> {
        std::thread::scope(|scope| {
            for lane in 1..self.threads {
                let pipeline = &self;
                scope.spawn(move || pipeline.work(lane));
            }
            self.work(0);
        });
        self.summary()
    }

    fn work(&self, me: usize) {
        // A step that panics must not leave the other threads waiting for its result.
        let _alarm = Alarm(self);
        let mut lane = Lane::default();
        loop {
            match self.next_task(me) {
                Task::Read => self.read(),
                Task::Signal(batch) => self.signal(&batch),
                Task::Lane(batch) => self.lane(me, &mut lane, &batch),
                Task::Join(batch) => self.join(batch),
                Task::Wait => {}
                Task::Exit => break,
            }
        }
        self.lock().lanes_done.push(lane.counters);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the step nearest to the end that is ready.
    fn next_task(&self, me: usize) -> Task {
        let mut state = self.lock();
        let task = state.choose(me, self.threads);
        if matches!(task, Task::Wait) {
            drop(self.wake.wait(state).unwrap_or_else(PoisonError::into_inner));
        }
        task
    }

    fn change(&self, how: impl FnOnce(&mut State)) {
        how(&mut self.lock());
        self.wake.notify_all();
    }

    fn read(&self) {
        let mut work = self.pool.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        let mut is_decoded = false;
        let slot = {
            let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
            let more = !self.progress.stop.load(Ordering::Relaxed) && reader.source.fill(&mut work.batch);
            if !more {
                work.batch.clear();
            }
            work.last = !more;
            reader.look_at_clock(&mut work);
            if let Some(tap) = &mut reader.tap {
                work.decode(self.threads, |packet, octets, decoded, class| tap(packet, octets, decoded, class));
                is_decoded = true;
            }
            self.progress.octets.store(reader.source.octets_read(), Ordering::Relaxed);
            self.progress.packets.fetch_add(work.batch.packets.len() as u64, Ordering::Relaxed);
            let mut state = self.lock();
            state.in_flight.push_back(None);
            state.reading = false;
            state.ended = work.last;
            state.base + state.in_flight.len() as u64 - 1
        };
        self.wake.notify_all();
        if !is_decoded {
            work.decode(self.threads, |_, _, _, _| true);
        }
        work.steady();
        let lanes = Mutex::new((0..self.threads).map(|_| None).collect());
        let in_flight = Arc::new(InFlight { work, signalled: OnceLock::new(), lanes });
        self.change(|state| {
            let at = (slot - state.base) as usize;
            if let Some(place) = state.in_flight.get_mut(at) {
                *place = Some(in_flight);
            }
        });
    }

    fn signal(&self, batch: &InFlight) {
        let work = &batch.work;
        let mut transport = self.transport.lock().unwrap_or_else(PoisonError::into_inner);
        transport.taker_mut().learn(&work.leaps);
        for some in work.signalling.chunks(GROUP) {
            transport.packets(some.iter().map(|(packet, decoded)| {
                let packet = &work.batch.packets[*packet as usize];
                (packet, decoded, work.batch.octets_of(packet))
            }));
        }
        if work.last {
            transport.finish()
        } else {
            transport.tick(work.now_ns)
        }
        let mut output = transport.poll();
        let notices = core::mem::take(&mut output.notices);
        drop(transport);
        let _ = batch.signalled.set((notices, Mutex::new(output)));
        self.change(|state| {
            state.signalling = false;
            state.next_signal += 1;
        });
    }

    fn lane(&self, me: usize, lane: &mut Lane, batch: &InFlight) {
        let notices = batch.signalled.get().map_or(&[][..], |(notices, _)| notices);
        lane.learn(&batch.work.leaps);
        batch.work.media(me, self.threads, lane, notices);
        if batch.work.last {
            lane.finish()
        } else {
            lane.tick(batch.work.now_ns)
        }
        batch.lanes.lock().unwrap_or_else(PoisonError::into_inner)[me] = Some(lane.poll());
        self.change(|state| state.next_lane[me] += 1);
    }

    fn join(&self, batch: Arc<InFlight>) {
        let mut joiner = self.joiner.lock().unwrap_or_else(PoisonError::into_inner);
        let output = batch
            .signalled
            .get()
            .map(|(_, output)| core::mem::take(&mut *output.lock().unwrap_or_else(PoisonError::into_inner)));
        let lanes = core::mem::take(&mut *batch.lanes.lock().unwrap_or_else(PoisonError::into_inner));
        joiner.counters.add(&batch.work.counters);
        joiner.unread(&batch.work.unread);
        let joined = Joined {
            output: output.unwrap_or_default(),
            lanes: lanes.into_iter().flatten().collect(),
            losses: &batch.work.batch.losses,
            now_ns: batch.work.now_ns,
            last: batch.work.last,
        };
        let result = joiner.join(joined);
        self.progress.calls.store(joiner.calls, Ordering::Relaxed);
        drop(joiner);
        self.change(|state| {
            state.joining = false;
            state.in_flight.pop_front();
            state.base += 1;
            state.error = result.err().or(state.error.take());
        });
        if let Some(done) = Arc::into_inner(batch) {
            self.pool.lock().unwrap_or_else(PoisonError::into_inner).push(done.work);
        }
    }

    fn summary(self) -> Result<Summary, String> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = state.error {
            return Err(error);
        }
        let reader = self.reader.into_inner().unwrap_or_else(PoisonError::into_inner);
        let transport = self.transport.into_inner().unwrap_or_else(PoisonError::into_inner);
        let joiner = self.joiner.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut lanes = crate::lane::LaneCounters::default();
        state.lanes_done.iter().for_each(|l| lanes.add(l));
        let signalling = transport.signalling();
        let files: Vec<FileSummary> = reader.source.files().iter().map(file_summary).collect();
        let first = files.iter().filter_map(|f| f.first_ns).min();
        let last = files.iter().filter_map(|f| f.last_ns).max();
        let mut counters = reader.source.counters().list();
        counters.extend(reader.clock.counters.list());
        counters.extend(joiner.counters.list());
        counters.extend(joiner.tap().list());
        counters.extend(transport.counters());
        counters.extend(signalling.counters.list());
        counters.extend(lanes.list());
        let leaps = joiner.leaps().to_vec();
        let mut unread = joiner.unread;
        unread.add(transport.unread());
        unread.set_without_stream(lanes.unclaimed);
        Ok(Summary {
            packets: joiner.counters.packets,
            span_ns: first.zip(last),
            sip_messages: signalling.counters.messages,
            call_ids: signalling.call_ids(),
            calls: joiner.calls,
            registrations: joiner.registrations,
            sip_events: joiner.events,
            streams: joiner.streams,
            rtp_packets: lanes.rtp,
            capture_lost: joiner.capture_lost,
            leaps,
            unread,
            counters,
            files,
        })
    }
}

struct Alarm<'p, 'a>(&'p Pipeline<'a>);

impl Drop for Alarm<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.change(|state| state.error = Some("a thread failed; this is a defect of Trunkline".to_owned()));
        }
    }
}

fn file_summary(file: &trunkline_capture::InputFile) -> FileSummary {
    FileSummary {
        path: file.path.to_string_lossy().into_owned(),
        format: file.format.clone(),
        packets: file.read.packets,
        first_ns: file.read.first_ns,
        last_ns: file.read.last_ns,
        error: file.error.as_ref().map(ToString::to_string),
        expands: file.error.as_ref().is_some_and(|e| matches!(e.fault, trunkline_capture::FileFault::Expands { .. })),
    }
}

impl State {
    fn choose(&mut self, me: usize, threads: usize) -> Task {
        if self.error.is_some() || (self.ended && self.in_flight.is_empty() && !self.reading) {
            return Task::Exit;
        }
        if !self.joining
            && self.next_lane.iter().all(|n| *n > self.base)
            && let Some(Some(batch)) = self.in_flight.front()
        {
            self.joining = true;
            return Task::Join(batch.clone());
        }
        let mine = self.next_lane[me];
        if mine < self.next_signal
            && let Some(Some(batch)) = self.in_flight.get((mine - self.base) as usize)
        {
            return Task::Lane(batch.clone());
        }
        if !self.signalling
            && let Some(Some(batch)) = self.in_flight.get((self.next_signal - self.base) as usize)
        {
            self.signalling = true;
            return Task::Signal(batch.clone());
        }
        if !self.reading && !self.ended && self.in_flight.len() < threads * BATCHES_PER_THREAD_MAX {
            self.reading = true;
            return Task::Read;
        }
        Task::Wait
    }
}

impl Reader<'_> {
    /// Looks for leaps of the packets' time; to judge one, more of the input may come into the batch.
    fn look_at_clock(&mut self, work: &mut Work) {
        let mut next = Batch::default();
        work.offset_ns = self.clock.offset_ns();
        let source = &mut self.source;
        work.leaps = self.clock.look(&mut work.batch, &mut |batch| {
            let is_more = source.fill(&mut next);
            next.packets.iter().for_each(|packet| batch.push(*packet, next.octets_of(packet)));
            batch.losses.append(&mut next.losses);
            is_more
        });
        work.now_ns = self.clock.now_ns();
    }
}

impl Work {
    /// Sets all times to steady time, which leaves out what the clock leapt.
    fn steady(&mut self) {
        let mut offset_ns = self.offset_ns;
        if offset_ns == 0 && self.leaps.is_empty() {
            return;
        }
        let mut leaps = self.leaps.iter().peekable();
        for packet in &mut self.batch.packets {
            while let Some(leap) = leaps.next_if(|leap| leap.number <= packet.number) {
                offset_ns = leap.offset_ns;
            }
            packet.at_ns = packet.at_ns.saturating_sub(offset_ns);
        }
    }

    /// Decodes the batch's packets and sorts them by what they are for.
    fn decode(&mut self, lanes: usize, mut tap: impl FnMut(&mut Packet, &[u8], &Decoded, Class) -> bool) {
        self.signalling.clear();
        self.rtcp.clear();
        self.media.resize_with(lanes, Vec::new);
        self.media.iter_mut().for_each(Vec::clear);
        self.unread.clear();
        self.counters = DecodeCounters { packets: self.batch.packets.len() as u64, ..DecodeCounters::default() };
        for at in 0..self.batch.packets.len() {
            let mut packet = self.batch.packets[at];
            let octets = self.batch.octets_of(&packet);
            let decoded = trunkline_wire::decode(packet.link, octets);
            self.counters.see(&decoded);
            let class = classify(&decoded, octets);
            let seen = packet;
            if !tap(&mut packet, octets, &decoded, class) {
                continue;
            }
            let aside = self.unread.see(&seen, class, &decoded, octets);
            match (class, decoded) {
                (Class::Rtp, Decoded::Udp(datagram)) => {
                    self.media[lane_of(&datagram, lanes)].push(MediaItem { packet: at as u32, datagram });
                }
                (Class::Rtcp, Decoded::Udp(datagram)) => {
                    // Here, because every lane gets it.
                    self.counters.rtcp += Packets::new(crate::classify::payload(&datagram, octets)).count() as u64;
                    self.rtcp.push(MediaItem { packet: at as u32, datagram });
                }
                (Class::Signalling, decoded) | (_, decoded @ Decoded::Icmp(_)) => {
                    self.signalling.push((at as u32, decoded));
                }
                (Class::OtherUdp, Decoded::Udp(datagram)) if aside => {
                    self.media[lane_of(&datagram, lanes)].push(MediaItem { packet: at as u32, datagram });
                }
                _ => {}
            }
            self.batch.packets[at] = packet;
        }
    }

    /// Gives a lane its packets, RTCP and notices in order of capture.
    fn media(&self, me: usize, lanes: usize, lane: &mut Lane, notices: &[Numbered]) {
        let mut notices = Notices { all: notices, next: 0, me, lanes };
        let mut rtcp = self.rtcp.iter().peekable();
        for item in &self.media[me] {
            while let Some(report) = rtcp.next_if(|r| r.packet < item.packet) {
                self.give(report, lane, &mut notices, Lane::rtcp);
            }
            self.give(item, lane, &mut notices, Lane::rtp);
        }
        for report in rtcp {
            self.give(report, lane, &mut notices, Lane::rtcp);
        }
        notices.give_rest(lane);
    }

    #[inline]
    fn give(
        &self,
        item: &MediaItem,
        lane: &mut Lane,
        notices: &mut Notices<'_>,
        take: fn(&mut Lane, &MediaPacket<'_>),
    ) {
        let packet = &self.batch.packets[item.packet as usize];
        notices.give_before(packet.number, lane);
        let payload = crate::classify::payload(&item.datagram, self.batch.octets_of(packet));
        take(
            lane,
            &MediaPacket {
                at_ns: packet.at_ns,
                number: packet.number,
                offset: packet.offset,
                file: packet.file,
                datagram: &item.datagram,
                payload,
            },
        );
    }
}

/// Notices that a lane is expected to take together.
const NOTICES_TOGETHER: usize = 32;

/// The notices of a batch on their way to a lane.
struct Notices<'a> {
    all: &'a [Numbered],
    next: usize,
    me: usize,
    lanes: usize,
}

impl Notices<'_> {
    /// Tells the lane what was known before a packet.
    #[inline]
    fn give_before(&mut self, number: u64, lane: &mut Lane) {
        while self.all.get(self.next).is_some_and(|n| n.number < number) {
            self.give(lane);
        }
    }

    /// Tells the lane all that is left.
    fn give_rest(&mut self, lane: &mut Lane) {
        while self.next < self.all.len() {
            self.give(lane);
        }
    }

    fn give(&mut self, lane: &mut Lane) {
        if self.next.is_multiple_of(NOTICES_TOGETHER) {
            lane.expect(&self.all[self.next..self.all.len().min(self.next + NOTICES_TOGETHER)]);
        }
        let n = &self.all[self.next];
        self.next += 1;
        // What is about one flow goes to its lane alone.
        if n.notice.flow().is_none_or(|flow| lane_of(&flow, self.lanes) == self.me) {
            lane.notice(n.number, &n.notice);
        }
    }
}

impl DecodeCounters {
    #[inline]
    pub(crate) fn see(&mut self, decoded: &Decoded) {
        let counter = match decoded {
            Decoded::Udp(_) => &mut self.udp,
            Decoded::Tcp(..) => &mut self.tcp,
            Decoded::Sctp(_) => &mut self.sctp,
            Decoded::Fragment(_) => &mut self.fragments,
            Decoded::Other | Decoded::Icmp(_) => &mut self.other,
            Decoded::Unknown(_) => &mut self.unknown,
            Decoded::Malformed(Layer::Link) => &mut self.malformed_link,
            Decoded::Malformed(Layer::Shim) => &mut self.malformed_shim,
            Decoded::Malformed(Layer::Network) => &mut self.malformed_network,
            Decoded::Malformed(Layer::Tunnel) => &mut self.malformed_tunnel,
            Decoded::Malformed(Layer::Transport) => &mut self.malformed_transport,
        };
        *counter += 1;
    }
}
