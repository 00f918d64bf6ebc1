//! Packets that say who they are: lane, class and number, so that each can be missed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use trunkline_capture::{Batch, FileSource, Packet};
use trunkline_record::{Class, LaneLog, NotRecorded, Recorded};
use trunkline_spool::{Options, Volume};
use trunkline_wire::pcapng::emit::packet_octets;

/// Raw IPv4 (LINKTYPE_RAW).
const LINK: u16 = 101;
/// Octets before the payload: IPv4 and UDP.
const HEADERS: usize = 28;
/// What each payload begins with.
const MARK: &[u8; 4] = b"trnk";

/// Which stream of numbers a packet is of: run, lane, class.
pub type Stream = (u64, u16, u8);

pub fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64
}

/// A lane that sends to the packet log.
pub struct Lane {
    pub log: LaneLog,
    run: u64,
    /// The last octet of the source address, too.
    pub lane: u16,
    pub sent: [u64; 3],
}

impl Lane {
    pub fn new(log: LaneLog, run: u64, lane: u16) -> Lane {
        Lane { log, run, lane, sent: [0; 3] }
    }

    /// The next packet of a class with so many octets of payload; whether it was recorded.
    pub fn send(&mut self, class: Class, at_ns: i64, payload: usize) -> bool {
        self.record(class, at_ns, payload).is_some()
    }

    /// The same; where its record lies and how long it is.
    pub fn record(&mut self, class: Class, at_ns: i64, payload: usize) -> Option<(Recorded, u64)> {
        let number = self.sent[class as usize];
        self.sent[class as usize] += 1;
        let octets = packet((self.run, self.lane, class as u8), number, payload.max(32));
        let decoded = trunkline_wire::decode(LINK, &octets);
        let length = octets.len() as u32;
        let packet =
            Packet { at_ns, number: 1, offset: 0, start: 0, captured: length, wire: length, link: LINK, file: 0 };
        let recorded = self.log.packet(&packet, &octets, &decoded, class)?;
        Some((recorded, u64::from(packet_octets(length))))
    }
}

fn packet(stream: Stream, number: u64, payload: usize) -> Vec<u8> {
    let length = (HEADERS + payload) as u16;
    let [high, low] = length.to_be_bytes();
    let (run, lane, class) = stream;
    // Several flows, so that indexes have something to say.
    let port = 10_000 + 2 * (number % 50) as u16;
    let mut octets = vec![0x45, 0, high, low, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, lane as u8, 198, 51, 100, class];
    octets.extend(port.to_be_bytes());
    octets.extend(port.to_be_bytes());
    octets.extend((length - 20).to_be_bytes());
    octets.extend([0, 0]);
    octets.extend(MARK);
    octets.extend(run.to_be_bytes());
    octets.extend(lane.to_be_bytes());
    octets.push(class);
    octets.extend(number.to_be_bytes());
    octets.resize(usize::from(length), 0xd5);
    octets
}

fn read_back(octets: &[u8]) -> Option<(Stream, u64)> {
    let payload = octets.get(HEADERS..)?.strip_prefix(MARK)?;
    let run = u64::from_be_bytes(*payload.first_chunk()?);
    let lane = u16::from_be_bytes(*payload.get(8..)?.first_chunk()?);
    let class = *payload.get(10)?;
    let number = u64::from_be_bytes(*payload.get(11..)?.first_chunk()?);
    Some(((run, lane, class), number))
}

/// Numbers found, by stream. Each file is whole, and no packet is there twice.
pub fn found(files: &[PathBuf]) -> BTreeMap<Stream, BTreeSet<u64>> {
    let mut all: BTreeMap<Stream, BTreeSet<u64>> = BTreeMap::new();
    for file in files {
        let mut source = FileSource::open(std::slice::from_ref(file));
        let mut batch = Batch::default();
        while source.fill(&mut batch) {
            for packet in &batch.packets {
                let (stream, number) = read_back(batch.octets_of(packet)).expect("one of ours");
                assert!(all.entry(stream).or_default().insert(number), "{stream:?} {number} twice: {}", file.display());
            }
        }
        let error = source.files()[0].error.as_ref().map(ToString::to_string);
        assert_eq!(error, None, "{}", file.display());
    }
    all
}

/// All files below a folder, sorted.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// The committed segments below a volume.
pub fn segments(volume: &Path) -> Vec<PathBuf> {
    let mut files = files(&volume.join("packets"));
    files.retain(|f| f.extension().is_some_and(|e| e == "pcapng"));
    files
}

/// Small blocks and memory, nothing kept free: what tests have room for.
pub fn options(volume: Volume) -> Options {
    let mut options = Options::new(vec![volume]).memory(8 << 20);
    options.block = 64 << 10;
    options.keep_free = 0;
    options
}

/// Packets by class that were told as not recorded; each report has a time.
pub fn told(not: &[NotRecorded], sums: &mut [u64; 3]) {
    for report in not {
        assert!(report.span_ns.0 > 0 && report.span_ns.0 <= report.span_ns.1 && report.packets > 0, "{report:?}");
        sums[report.class as usize] += report.packets;
    }
}
