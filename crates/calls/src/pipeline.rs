//! How threads share the work of reading, with the same result for any number of them.
//!
//! ```text
//!  capture           lane              here, a batch at a time                               trunkline
//!  +------------+    +------------+    +--------------+   +-------------+   +------------+    +-------+
//!  | FileSource |--->| 1 decode   |--->| 2 signal     |-->| 3 lane      |-->| 4 join     |--->| Sink: |
//!  | unpack,    |    | wire,      |    | SIP: calls,  | N | RTP by flow,|   | calls with |    | rows  |
//!  | merge by   |  B | classify,  |    | registrations| o | RTCP; loss, |   | streams,   |    |       |
//!  | time       |    | sort       |    | events, SDP  |   | jitter      |   | verdict    |    |       |
//!  +------------+    +------------+    +--------------+   +-------------+   +------------+    +-------+
//!                    any thread,       one batch after    each thread its   one after        B Batch
//!                    any order         the other          own lane          the other        No Notice
//! ```
//!
//! 0. *Read* (`capture::FileSource`): files in blocks of 256 KiB, unpacked and merged by time. While one file alone is
//!    open nothing is copied for each packet. What several files hold alike is there once ([`crate::copies`]), unless a
//!    job before knows what was there before. Where RTP says that the clock was set (`lane::clock`), all that follows
//!    sees a time that goes on, and rows get the clock's time back (docs/decisions/0072).
//! 1. *Decode* (`lane::walk`): from the link type through VLANs, labels and tunnels to the innermost datagram, without
//!    a copy. `lane::class` looks at the payload, never at the port alone: signalling, RTP, RTCP, neither. The packet
//!    goes to the packet log if it is recorded, then to calls, which sorts it; [`crate::unread`] counts what is
//!    neither.
//! 2. *Signal* ([`crate::transport`], [`crate::signalling`]): fragments, TCP, SCTP and WebSocket become SIP messages,
//!    those become calls, registrations and events. What SDP says about media goes to the lanes as a notice with the
//!    number of the packet that told it, and so does media over TCP, message by message.
//! 3. *Lane* ([`crate::lane`], [`crate::stream`]): RTP of one pair of endpoints always meets in one lane, merged with
//!    the notices by packet number. Streams are followed from the first packet if they were announced, else after four
//!    packets in sequence (docs/decisions/0012). TURN with RTP inside, RTP over TCP, DTLS handshakes and fax come here,
//!    too, and what ICMP says of media (`lane/aside.rs`).
//! 4. *Join* ([`crate::join`], [`crate::ledger`], [`crate::verdict`]): a closed call gets its streams, what the capture
//!    itself lost, and the sentence that says what was wrong. Rows go to the [`Sink`]. They name the file and the
//!    record offset of messages and streams: packets are cut out of the capture (`capture::reread`), not stored twice.
//!
//! A thread takes the step nearest to the end that is ready (docs/decisions/0010), so that one thread alone walks each
//! batch through all steps while it is in the cache, and several keep each other fed, with at most
//! [`BATCHES_PER_THREAD_MAX`] batches each. A lock is taken once for a batch and step, never for a packet. Calls and
//! streams end at times that follow from packet times, never at batch borders.

use crate::copies::Copies;
use crate::job::{FileSummary, Progress, Sink, Summary};
use crate::join::{Joined, Joiner, Names};
use crate::lane::{Lane, LaneOutput, MediaPacket};
use crate::limits::BATCHES_PER_THREAD_MAX;
use crate::media::Numbered;
use crate::signalling::{Output, Signalling};
use crate::transport::{GROUP, Transport};
use crate::unread::Unread;
use core::ops::ControlFlow;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use trunkline_capture::FileSource;
use trunkline_lane::class::{lane_of, payload};
use trunkline_lane::files::{FileBatch, FileReader};
use trunkline_lane::{DecodeCounters, LaneJob, PacketClass, SeenPacket};
use trunkline_wire::{Datagram, Decoded};

#[derive(Clone, Copy)]
struct MediaItem {
    packet: u32,
    datagram: Datagram,
}

/// A batch's packets by what they are for. As a job of the lane engine it sorts them.
#[derive(Default)]
struct Sorted {
    signalling: Vec<(u32, Decoded)>,
    /// By lane.
    media: Vec<Vec<MediaItem>>,
    /// For every lane.
    rtcp: Vec<MediaItem>,
    unread: Unread,
}

/// A batch with what decoding made of it.
#[derive(Default)]
struct Work {
    read: FileBatch,
    sorted: Sorted,
    counters: DecodeCounters,
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

/// Where packets come from. `before` are jobs that see every packet before calls does, in order of capture.
struct Reader<J> {
    files: FileReader,
    copies: Copies,
    before: Option<J>,
}

/// The reading of some files, with the lane's jobs `J` before calls.
pub struct Pipeline<'a, J> {
    threads: usize,
    reader: Mutex<Reader<J>>,
    transport: Mutex<Transport<Signalling>>,
    joiner: Mutex<Joiner<'a>>,
    state: Mutex<State>,
    wake: Condvar,
    pool: Mutex<Vec<Work>>,
    progress: &'a Progress,
}

impl<'a, J: LaneJob + Send> Pipeline<'a, J> {
    /// A pipeline of `threads` lanes; `names` are those of what packets have as their file, for the rows. Jobs `before`
    /// calls may set where a packet's record lies, and whether anything is made of it at all; with them decoding is one
    /// batch after the other.
    pub fn new(
        source: FileSource,
        names: Arc<dyn Names>,
        before: Option<J>,
        threads: usize,
        sink: &'a mut dyn Sink,
        progress: &'a Progress,
    ) -> Self {
        let threads = threads.max(1);
        progress.octets_total.store(source.octets_total(), Ordering::Relaxed);
        // A job before may know what was there before, and tells it itself.
        let copies = Copies::of(if before.is_some() { 1 } else { source.files().len() });
        Pipeline {
            threads,
            reader: Mutex::new(Reader { files: FileReader::new(source), copies, before }),
            transport: Mutex::new(Transport::default()),
            joiner: Mutex::new(Joiner::new(names, sink)),
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
            let reader = &mut *self.reader.lock().unwrap_or_else(PoisonError::into_inner);
            reader.files.fill(&mut work.read, self.progress.stop.load(Ordering::Relaxed));
            reader.copies.take_out(&mut work.read.batch);
            if let Some(before) = &mut reader.before {
                work.decode(self.threads, before);
                is_decoded = true;
            }
            self.progress.octets.store(reader.files.source().octets_read(), Ordering::Relaxed);
            self.progress.packets.fetch_add(work.read.batch.packets.len() as u64, Ordering::Relaxed);
            let mut state = self.lock();
            state.in_flight.push_back(None);
            state.reading = false;
            state.ended = work.read.is_last;
            state.base + state.in_flight.len() as u64 - 1
        };
        self.wake.notify_all();
        if !is_decoded {
            work.decode(self.threads, &mut ());
        }
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
        transport.taker_mut().learn(&work.read.leaps);
        for some in work.sorted.signalling.chunks(GROUP) {
            transport.packets(some.iter().map(|(packet, decoded)| {
                let packet = &work.read.batch.packets[*packet as usize];
                (packet, decoded, work.read.batch.octets_of(packet))
            }));
        }
        if work.read.is_last {
            transport.finish()
        } else {
            transport.tick(work.read.now_ns)
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
        lane.learn(&batch.work.read.leaps);
        batch.work.media(me, self.threads, lane, notices);
        if batch.work.read.is_last {
            lane.finish()
        } else {
            lane.tick(batch.work.read.now_ns)
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
        joiner.unread(&batch.work.sorted.unread);
        let joined = Joined {
            output: output.unwrap_or_default(),
            lanes: lanes.into_iter().flatten().collect(),
            losses: &batch.work.read.batch.losses,
            now_ns: batch.work.read.now_ns,
            last: batch.work.read.is_last,
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
        let files: Vec<FileSummary> = reader.files.source().files().iter().map(file_summary).collect();
        let first = files.iter().filter_map(|f| f.first_ns).min();
        let last = files.iter().filter_map(|f| f.last_ns).max();
        let mut counters = reader.files.counters();
        counters.extend(reader.copies.counters.list());
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
            copies: reader.copies.counters.copies,
            first_copy: reader.copies.first,
            leaps,
            unread,
            counters,
            files,
        })
    }
}

struct Alarm<'p, 'a, J: LaneJob + Send>(&'p Pipeline<'a, J>);

impl<J: LaneJob + Send> Drop for Alarm<'_, '_, J> {
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

impl Sorted {
    fn clear(&mut self, lanes: usize) {
        self.signalling.clear();
        self.rtcp.clear();
        self.media.resize_with(lanes, Vec::new);
        self.media.iter_mut().for_each(Vec::clear);
        self.unread.clear();
    }
}

impl LaneJob for Sorted {
    #[inline]
    fn take(&mut self, seen: &mut SeenPacket<'_>) -> ControlFlow<()> {
        let packet = seen.at;
        let aside = self.unread.see(seen.packet, seen.class, seen.decoded, seen.octets);
        match (seen.class, seen.decoded) {
            (PacketClass::Rtp, Decoded::Udp(datagram)) => {
                let lane = lane_of(datagram, self.media.len());
                self.media[lane].push(MediaItem { packet, datagram: *datagram });
            }
            // Every lane gets it.
            (PacketClass::Rtcp, Decoded::Udp(datagram)) => {
                self.rtcp.push(MediaItem { packet, datagram: *datagram });
            }
            (PacketClass::Signalling, decoded) | (_, decoded @ Decoded::Icmp(_)) => {
                self.signalling.push((packet, *decoded));
            }
            (PacketClass::OtherUdp, Decoded::Udp(datagram)) if aside => {
                let lane = lane_of(datagram, self.media.len());
                self.media[lane].push(MediaItem { packet, datagram: *datagram });
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl Work {
    /// Decodes the batch's packets, passes them to the jobs `before`, and sorts them by what they are for.
    fn decode<J: LaneJob>(&mut self, lanes: usize, before: &mut J) {
        self.sorted.clear(lanes);
        self.counters = self.read.walk(&mut (before, &mut self.sorted));
    }

    /// Gives a lane its packets, RTCP and notices in order of capture.
    fn media(&self, me: usize, lanes: usize, lane: &mut Lane, notices: &[Numbered]) {
        let mut notices = Notices { all: notices, next: 0, me, lanes };
        let mut rtcp = self.sorted.rtcp.iter().peekable();
        for item in &self.sorted.media[me] {
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
        let packet = &self.read.batch.packets[item.packet as usize];
        notices.give_before(packet.number, lane);
        let payload = payload(&item.datagram, self.read.batch.octets_of(packet));
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
