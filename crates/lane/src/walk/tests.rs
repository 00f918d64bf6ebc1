use super::*;
use trunkline_wire::Endpoint;

/// A source whose packets are numbered as they are, and whose clock is a second ahead.
struct Ahead;

impl Origin for Ahead {
    fn admit(&mut self, packet: &mut Packet) -> i64 {
        packet.at_ns - 1_000_000_000
    }
}

/// Notes what it sees. Batches of which it wants the octets it keeps.
#[derive(Default)]
struct Notes {
    seen: Vec<(u32, Packet, i64, Vec<u8>, Decoded, PacketClass)>,
    /// The packet of which nothing more is made.
    stops: Option<u64>,
    keeps: bool,
    kept: Vec<Batch>,
    counted: DecodeCounters,
    finished: u32,
}

impl LaneJob for Notes {
    fn take(&mut self, seen: &mut SeenPacket<'_>) -> ControlFlow<()> {
        let (packet, octets) = (*seen.packet, seen.octets.to_vec());
        self.seen.push((seen.at, packet, seen.steady_ns, octets, *seen.decoded, seen.class));
        match self.stops == Some(packet.number) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn keep(&mut self, batch: Batch, counted: &DecodeCounters) -> Option<Batch> {
        self.counted.add(counted);
        if !self.keeps {
            return Some(batch);
        }
        self.kept.push(batch);
        None
    }

    fn spare(&mut self) -> Option<Batch> {
        self.kept.pop()
    }

    fn finish(&mut self) {
        self.finished += 1;
    }
}

/// Says that each packet was recorded.
struct Log;

impl LaneJob for Log {
    fn take(&mut self, seen: &mut SeenPacket<'_>) -> ControlFlow<()> {
        seen.recorded_at((7, seen.packet.number * 100));
        ControlFlow::Continue(())
    }
}

/// A datagram in IPv4 without a link header (LINKTYPE_RAW).
fn datagram(payload: &[u8]) -> Vec<u8> {
    let length = (28 + payload.len()) as u16;
    let mut octets = vec![0x45, 0];
    octets.extend_from_slice(&length.to_be_bytes());
    octets.extend_from_slice(&[0, 1, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0x9c, 0x40, 0x9c, 0x42]);
    octets.extend_from_slice(&(length - 20).to_be_bytes());
    octets.extend_from_slice(&[0, 0]);
    octets.extend_from_slice(payload);
    octets
}

const RTP: &[u8] = &[0x80, 0, 0, 1, 0, 0, 0, 160, 1, 2, 3, 4, 0x55, 0x55];
/// A receiver report without blocks, and a goodbye.
const RTCP: &[u8] = &[0x80, 201, 0, 1, 1, 2, 3, 4, 0x81, 203, 0, 1, 1, 2, 3, 4];
const SIP: &[u8] = b"OPTIONS sip:a@192.0.2.2 SIP/2.0\r\n\r\n";

fn batch() -> Batch {
    let mut batch = Batch::default();
    for (number, payload) in (1..).zip([SIP, RTP, RTCP, &[0; 20], RTP]) {
        let octets = datagram(payload);
        let (captured, at_ns) = (octets.len() as u32, number as i64 * 5_000_000_000);
        let packet = Packet { at_ns, number, offset: 0, start: 0, captured, wire: captured, link: 101, file: NO_FILE };
        batch.push(packet, &octets);
    }
    // What cannot be read: an Ethernet frame of three octets.
    let packet = Packet { at_ns: 30, number: 6, offset: 0, start: 0, captured: 3, wire: 3, link: 1, file: NO_FILE };
    batch.push(packet, &[1, 2, 3]);
    batch
}

const NO_FILE: u32 = crate::NOT_RECORDED;

#[test]
fn each_packet_is_decoded_and_counted_once_however_many_jobs_there_are() {
    let (mut one, mut three) = (Notes::default(), (Notes::default(), Notes::default(), Notes::default()));
    let counted = walk(&mut batch(), &mut Ahead, &mut one);
    assert_eq!(walk(&mut batch(), &mut Ahead, &mut three), counted);
    let expected = DecodeCounters { packets: 6, udp: 5, rtcp: 2, malformed_link: 1, ..DecodeCounters::default() };
    assert_eq!(counted, expected);
    assert_eq!(one.seen.len(), 6);
    for notes in [&three.0, &three.1, &three.2] {
        assert_eq!(notes.seen, one.seen);
    }
}

#[test]
fn jobs_see_the_same_packets_in_order_with_the_same_decoded_value() {
    let mut jobs = (Notes::default(), Log, Notes::default());
    let mut batch = batch();
    walk(&mut batch, &mut Ahead, &mut jobs);
    let (before, behind) = (&jobs.0.seen, &jobs.2.seen);
    let classes: Vec<PacketClass> = before.iter().map(|seen| seen.5).collect();
    use PacketClass::{Other, OtherUdp, Rtcp, Rtp, Signalling};
    assert_eq!(classes, [Signalling, Rtp, Rtcp, OtherUdp, Rtp, Other]);
    assert_eq!(before.iter().map(|seen| seen.0).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(before.len(), behind.len());
    for (before, behind) in before.iter().zip(behind) {
        // All but where it was recorded, which the second job said.
        assert_eq!((behind.1.file, behind.1.offset), (7, behind.1.number * 100));
        assert_eq!(Packet { file: before.1.file, offset: before.1.offset, ..behind.1 }, before.1);
        assert_eq!((&behind.3, behind.4, behind.5, behind.2), (&before.3, before.4, before.5, before.2));
    }
    let Decoded::Udp(first) = before[0].4 else { panic!("{:?}", before[0].4) };
    assert_eq!(first.from(), "192.0.2.1:40000".parse::<Endpoint>().unwrap());
    // The clock's time for who records, steady time for what follows and in the batch.
    assert_eq!((before[1].1.at_ns, before[1].2), (10_000_000_000, 9_000_000_000));
    assert_eq!((batch.packets[1].at_ns, batch.packets[1].file), (9_000_000_000, 7));
}

#[test]
fn a_disabled_job_sees_no_packets() {
    let mut jobs = (None::<Notes>, Some(Notes::default()), None::<Log>);
    let mut batch = batch();
    let counted = walk(&mut batch, &mut Ahead, &mut jobs);
    assert!(jobs.keep(batch, &counted).is_some());
    jobs.finish();
    let (disabled, enabled, _) = &jobs;
    assert!(disabled.is_none());
    let enabled = enabled.as_ref().unwrap();
    assert_eq!((enabled.seen.len(), enabled.counted.packets, enabled.finished), (6, 6, 1));
    // Nobody recorded it.
    assert!(enabled.seen.iter().all(|seen| seen.1.file == NO_FILE));
}

#[test]
fn nothing_more_is_made_of_a_packet_that_a_job_stops() {
    let first = Notes { stops: Some(3), ..Notes::default() };
    let mut jobs = (first, Notes::default());
    let counted = walk(&mut batch(), &mut Ahead, &mut jobs);
    let numbers = |notes: &Notes| notes.seen.iter().map(|seen| seen.1.number).collect::<Vec<_>>();
    assert_eq!(numbers(&jobs.0), [1, 2, 3, 4, 5, 6]);
    assert_eq!(numbers(&jobs.1), [1, 2, 4, 5, 6]);
    // It was decoded all the same, but its reports are not read.
    assert_eq!((counted.packets, counted.udp, counted.rtcp), (6, 5, 0));
}

#[test]
fn the_first_job_that_needs_a_batch_has_it_until_it_is_spare() {
    let keeps = || Notes { keeps: true, ..Notes::default() };
    let mut jobs = (Notes::default(), Some(keeps()), keeps());
    assert!(jobs.keep(batch(), &DecodeCounters::default()).is_none());
    assert_eq!((jobs.1.as_ref().map(|job| job.kept.len()), jobs.2.kept.len()), (Some(1), 0));
    assert!(jobs.spare().is_some());
    assert!(jobs.spare().is_none());
}
