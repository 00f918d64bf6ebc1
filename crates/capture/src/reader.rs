//! One file, read into batches: framed where it was read to, never copied but for the record that a batch cuts.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use trunkline_wire::pcap::{ByteOrder, Frame, Rest, Sink};
use trunkline_wire::pcapng::{self, Lost};

use crate::batch::{Batch, CaptureLoss, LossPlace, Packet};
use crate::error::{FileError, FileFault};
use crate::expansion::Expansion;
use crate::framer::{DETECT_OCTETS, Detected, Framer};
use crate::input::{InputFile, SECRETS_OCTETS_MAX, Secrets, Tally};
use crate::stream::Stream;

/// Reads one file.
pub(crate) struct Reader {
    path: PathBuf,
    file: u16,
    stream: Stream,
    framer: Option<Framer>,
    /// Octets that were read and not yet framed: the beginning of a record.
    carry: Vec<u8>,
    /// Where `carry` begins in the decompressed file.
    base: u64,
    /// Octets to pass over before reading on.
    skip: u64,
    /// Octets that the record in `carry` needs at least.
    needs: usize,
    ended: bool,
    /// How much may come out of the file, and what did.
    expansion: Option<Expansion>,
    inside: u64,
    /// Losses are known already: they are counted, not handed out.
    knows_losses: bool,
    secret_octets: usize,
    /// What was learned of the file.
    pub(crate) format: String,
    pub(crate) tally: Tally,
    pub(crate) secrets: Vec<Secrets>,
    pub(crate) error: Option<FileError>,
}

/// How reading went, besides the octets it brought.
enum Flow {
    On,
    End,
    Failed(io::Error),
    Refused(FileFault),
}

impl Reader {
    /// Opens a file; `file` is the number that its packets bear.
    pub(crate) fn open(path: &Path, file: u16) -> Result<Reader, FileError> {
        Reader::of(path, file, Stream::open(path))
    }

    /// Of a stream that was opened, or failed to.
    pub(crate) fn of(path: &Path, file: u16, stream: io::Result<Stream>) -> Result<Reader, FileError> {
        let path = path.to_path_buf();
        match stream {
            Ok(stream) => Ok(Reader {
                path,
                file,
                stream,
                framer: None,
                carry: Vec::new(),
                base: 0,
                skip: 0,
                needs: 0,
                ended: false,
                expansion: None,
                inside: 0,
                knows_losses: false,
                secret_octets: 0,
                format: String::new(),
                tally: Tally::default(),
                secrets: Vec::new(),
                error: None,
            }),
            Err(e) => {
                Err(FileError { path, offset: 0, decompressed: false, fault: FileFault::Unreadable(e.to_string()) })
            }
        }
    }

    /// Replaces what is in the batch by the next packets, about `size` octets of file, numbered on from `number`.
    /// False when there are none left.
    pub(crate) fn fill(&mut self, batch: &mut Batch, size: usize, number: &mut u64) -> bool {
        batch.packets.clear();
        batch.losses.clear();
        while batch.packets.is_empty() && batch.losses.is_empty() {
            if self.ended {
                return false;
            }
            self.fill_once(batch, size, number);
            self.tally.octets_read = self.stream.octets_read();
        }
        true
    }

    /// The same, where no more may come out of a compression than this.
    pub(crate) fn bounded(mut self, expansion: Option<Expansion>) -> Reader {
        self.expansion = expansion.filter(|_| self.stream.compression().is_some());
        self
    }

    /// Whether it can be opened again.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.stream.is_repeatable()
    }

    /// Whether it can be opened again and is not compressed.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_repeatable() && self.stream.compression().is_none()
    }

    /// The byte order of what was read of a pcapng file.
    pub(crate) fn pcapng_order(&self) -> Option<ByteOrder> {
        match &self.framer {
            Some(Framer::Pcapng(sections)) => sections.order(),
            _ => None,
        }
    }

    /// The last octets of the file, which is not read on behind this.
    pub(crate) fn tail(&mut self, octets: usize) -> io::Result<Vec<u8>> {
        let total = self.octets_total().unwrap_or(0);
        self.ended = true;
        self.stream.seek(total.saturating_sub(octets as u64))?;
        let mut tail = Vec::new();
        self.stream.by_ref().take(octets as u64).read_to_end(&mut tail)?;
        Ok(tail)
    }

    /// Hands no losses out from here on.
    pub(crate) fn know_losses(&mut self) {
        self.knows_losses = true;
    }

    /// Octets of the file, where known.
    pub(crate) fn octets_total(&self) -> Option<u64> {
        self.stream.octets_total()
    }

    /// Where the next octets to be read lie in the decompressed file.
    pub(crate) fn position(&self) -> u64 {
        self.base + self.carry.len() as u64
    }

    /// Goes on at the record that begins at `offset`; false where that cannot be done without reading up to there: in
    /// compressed files, and in pcapng, where each packet depends on the descriptions before it.
    pub(crate) fn seek(&mut self, offset: u64) -> bool {
        let can = matches!(self.framer, Some(Framer::Pcap(_))) && self.error.is_none();
        if !can || !self.stream.seek(offset).unwrap_or(false) {
            return false;
        }
        self.carry.clear();
        (self.base, self.needs, self.ended) = (offset, 0, false);
        true
    }

    /// Copies what was learned to where others see it.
    pub(crate) fn tell(&mut self, input: &mut InputFile) {
        input.read = self.tally;
        if input.format.is_empty() {
            input.format.clone_from(&self.format);
        }
        input.error = input.error.take().or_else(|| self.error.take());
        if self.ended && !self.secrets.is_empty() {
            input.secrets = core::mem::take(&mut self.secrets);
        }
    }

    fn fill_once(&mut self, batch: &mut Batch, size: usize, number: &mut u64) {
        let want = size.max(self.needs).max(self.carry.len() + 1);
        // The octets of the last batch stay: clearing them would cost as much as reading.
        let octets = batch.octets.own();
        if octets.len() < want {
            octets.resize(want, 0);
        }
        let flow = self.pass_over(octets);
        let carried = self.carry.len();
        octets[..carried].copy_from_slice(&self.carry);
        let (read, flow) = match flow {
            Flow::On => self.read(&mut octets[carried..want]),
            stopped => (0, stopped),
        };
        self.frame(batch, carried + read, flow, number);
    }

    /// Reads over octets that nobody wants.
    fn pass_over(&mut self, room: &mut [u8]) -> Flow {
        while self.skip > 0 {
            let n = room.len().min(usize::try_from(self.skip).unwrap_or(usize::MAX));
            let (read, flow) = self.read(&mut room[..n]);
            self.skip -= read as u64;
            self.base += read as u64;
            if !matches!(flow, Flow::On) {
                return flow;
            }
        }
        Flow::On
    }

    /// Reads until `room` is full or the file ends, from a pipe only once.
    fn read(&mut self, room: &mut [u8]) -> (usize, Flow) {
        let mut have = 0;
        while have < room.len() {
            match self.stream.read(&mut room[have..]) {
                Ok(0) => return (have, Flow::End),
                Ok(n) => {
                    have += n;
                    self.inside += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return (have, Flow::Failed(e)),
            }
            if self.stream.is_slow() {
                break;
            }
        }
        let (read, inside) = (self.stream.octets_read(), self.inside);
        match self.expansion {
            Some(limit) if limit.is_too_much(read, inside) => {
                (have, Flow::Refused(FileFault::Expands { inside, read }))
            }
            _ => (have, Flow::On),
        }
    }

    /// Frames the first `have` octets of the batch and keeps what is left for the next one.
    fn frame(&mut self, batch: &mut Batch, have: usize, flow: Flow, number: &mut u64) {
        let stopped = !matches!(flow, Flow::On);
        let Batch { octets, packets, losses } = batch;
        let octets = &octets.own()[..have];
        let Some(begin) = self.detect(octets, stopped) else { return self.stop(flow, None) };
        let Some(framer) = &mut self.framer else {
            self.carry.clear();
            self.carry.extend_from_slice(octets);
            return;
        };
        let mut found = Found {
            packets,
            losses: (!self.knows_losses).then_some(losses),
            tally: &mut self.tally,
            secrets: &mut self.secrets,
            secret_octets: &mut self.secret_octets,
            file: self.file.into(),
            base: self.base + begin as u64,
            shift: begin as u32,
            number: *number,
        };
        let first = found.packets.len();
        let (consumed, rest) = framer.scan(&octets[begin..], &mut found);
        *number = found.number;
        self.tally.count(&packets[first..]);
        if self.format.is_empty() {
            self.format = describe(framer, self.stream.compression());
        }
        let consumed = begin + consumed;
        self.base += consumed as u64;
        let left = &octets[consumed..];
        self.carry.clear();
        let fault = match rest {
            Rest::Broken(fault) => Some(fault),
            Rest::Needs(n) if stopped => {
                (!left.is_empty() || !framer.may_end()).then(|| framer.cut(n as u64, left.len() as u64))
            }
            Rest::Needs(n) => {
                self.needs = n;
                self.carry.extend_from_slice(left);
                return;
            }
            Rest::Skip(n) if stopped => Some(framer.cut(n, left.len() as u64)),
            Rest::Skip(n) => {
                self.skip = n - left.len() as u64;
                self.base += left.len() as u64;
                self.needs = 0;
                return;
            }
        };
        self.stop(flow, fault);
    }

    /// Finds out the format, once; where the records begin in these octets. `None` ends the file.
    fn detect(&mut self, octets: &[u8], ended: bool) -> Option<usize> {
        if self.framer.is_some() {
            return Some(0);
        }
        match Framer::detect(octets, ended, self.stream.is_slow(), self.stream.compression()) {
            Detected::Capture(framer, begin) => {
                self.framer = Some(framer);
                return Some(begin);
            }
            Detected::More => {
                self.needs = DETECT_OCTETS;
                return Some(0);
            }
            Detected::Empty => self.format = "empty".into(),
            Detected::Fault(fault) => self.error = Some(self.error_of(fault)),
        }
        None
    }

    /// Ends the file. What the system or the decompressor says is the cause of what the framing misses.
    fn stop(&mut self, flow: Flow, fault: Option<FileFault>) {
        self.ended = true;
        let cause = match (flow, self.stream.compression()) {
            (Flow::Failed(e), Some(name)) => Some(FileFault::Compression(name, e.to_string())),
            (Flow::Failed(e), None) => Some(FileFault::Unreadable(e.to_string())),
            (Flow::Refused(fault), _) => Some(fault),
            _ => None,
        };
        // Damage that framing found lies before the place where reading failed.
        let cut = matches!(fault, None | Some(FileFault::CutInPacket { .. } | FileFault::CutInBlock { .. }));
        let fault = if cut { cause.or(fault) } else { fault };
        if let Some(fault) = fault {
            self.error = Some(self.error_of(fault));
        }
    }

    fn error_of(&self, fault: FileFault) -> FileError {
        let decompressed = self.stream.compression().is_some();
        FileError { path: self.path.clone(), offset: self.base, decompressed, fault }
    }
}

fn describe(framer: &Framer, compression: Option<&str>) -> String {
    let format = framer.describe();
    compression.map_or(format.clone(), |compression| format!("{format}, in {compression}"))
}

/// Takes what framing finds.
struct Found<'a> {
    packets: &'a mut Vec<Packet>,
    losses: Option<&'a mut Vec<CaptureLoss>>,
    tally: &'a mut Tally,
    secrets: &'a mut Vec<Secrets>,
    secret_octets: &'a mut usize,
    file: u32,
    /// Where the octets scanned begin in the decompressed file.
    base: u64,
    /// Where they begin in the batch.
    shift: u32,
    number: u64,
}

impl Sink for Found<'_> {
    #[inline]
    fn packet(&mut self, frame: Frame) {
        self.packets.push(Packet {
            at_ns: frame.at_ns,
            number: self.number,
            offset: self.base + frame.record as u64,
            start: self.shift + frame.start as u32,
            captured: frame.captured,
            wire: frame.wire,
            link: frame.link,
            file: self.file,
        });
        self.number += 1;
    }

    fn lost(&mut self, lost: Lost) {
        self.tally.lost = self.tally.lost.saturating_add(lost.packets);
        let Some(losses) = &mut self.losses else { return };
        let place = if lost.by_interface { LossPlace::Interface } else { LossPlace::OperatingSystem };
        let Lost { at_ns, since_ns, packets, .. } = lost;
        losses.push(CaptureLoss { at_ns, since_ns, packets, file: self.file, place });
    }

    fn secrets(&mut self, kind: u32, octets: &[u8]) {
        self.tally.secret_blocks += 1;
        // An entry's own size counts too, so that many empty ones are bounded as well.
        let held = *self.secret_octets + octets.len() + size_of::<Secrets>();
        if held > SECRETS_OCTETS_MAX {
            self.tally.secret_blocks_dropped += 1;
        } else {
            *self.secret_octets = held;
            self.secrets.push(Secrets { kind, octets: octets.to_vec() });
        }
    }

    fn passed(&mut self, block: u32) {
        match block {
            pcapng::NAMES => self.tally.name_blocks += 1,
            pcapng::SECRETS => {
                self.tally.secret_blocks += 1;
                self.tally.secret_blocks_dropped += 1;
            }
            _ => self.tally.other_blocks += 1,
        }
    }
}

impl Tally {
    /// Adds packets to the figures.
    fn count(&mut self, packets: &[Packet]) {
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        let (mut captured, mut wire) = (0, 0);
        for packet in packets {
            (first, last) = (first.min(packet.at_ns), last.max(packet.at_ns));
            captured += u64::from(packet.captured);
            wire += u64::from(packet.wire);
        }
        if packets.is_empty() {
            return;
        }
        self.packets += packets.len() as u64;
        self.captured_octets += captured;
        self.wire_octets += wire;
        self.first_ns = Some(self.first_ns.map_or(first, |t| t.min(first)));
        self.last_ns = Some(self.last_ns.map_or(last, |t| t.max(last)));
    }
}
