//! A fax over UDPTL (ITU-T T.38 section 9.1): packets with a number each, the last ones again in each, and what becomes
//! of them on the way.

use crate::net::{Head, UDP, sum};
use crate::plot::Plot;
use crate::random::Random;
use crate::scene::{Party, Scene};
use crate::settings::Tunnel;
use crate::truth::{Moment, StreamTruth, Who};

/// What it is called among the codecs.
pub(crate) const CODEC: &str = "T.38";

/// From one packet to the next.
const STEP_NS: i64 = 40_000_000;
/// From the answer to the first packet, and from the last one to the end.
const MARGIN_NS: i64 = 200_000_000;
/// Octets of a page in a packet.
const PAGE_OCTETS: usize = 32;

/// The packets of both sides by time, and what arrives.
pub(crate) type Played = (Vec<(i64, Vec<u8>)>, Vec<StreamTruth>);

/// What both sides send after the answer, if it is a fax that loses packets.
pub(crate) fn play(scene: &Scene, plot: &Plot, answer_ns: i64, tunnel: Tunnel, random: &mut Random) -> Played {
    let (mut packets, mut truths) = (Vec::new(), Vec::new());
    let Some((lossy, repeats, gone)) = plot.fax_loss else { return (packets, truths) };
    for (side, party) in [Party::Caller, Party::Callee].into_iter().enumerate() {
        let (from, to) = (scene.host(party).media_seen, scene.host(party.other()).media_seen);
        let head = Head::new(tunnel, from, to, UDP, 46);
        let count = ((plot.talk_ns - 2 * MARGIN_NS) / STEP_NS).clamp(0, 30_000) as u16;
        let lost = if side == lossy { runs(count, repeats, gone, random) } else { Vec::new() };
        let mut truth = StreamTruth {
            ssrc: format!("0x{:08x}", 0),
            src: from.to_string(),
            dst: to.to_string(),
            direction: if side == 0 { Who::Caller } else { Who::Callee },
            codec: CODEC.to_owned(),
            expected: u64::from(count),
            missing: lost.len() as u64,
            lost: lost.len() as i64,
            sent: u64::from(count),
            ..StreamTruth::default()
        };
        for number in (0..count).filter(|number| !lost.contains(number)) {
            let at_ns = answer_ns + MARGIN_NS + i64::from(number) * STEP_NS + side as i64 * 7_000_000;
            let payload = udptl(number, repeats);
            let mut octets = Vec::with_capacity(payload.len() + 80);
            head.udp(&mut octets, number, payload.len(), sum(&payload));
            octets.extend_from_slice(&payload);
            packets.push((at_ns, octets));
            truth.packets += 1;
            truth.octets += payload.len() as u64;
            truth.first = truth.first.or_else(|| Some(Moment::of(at_ns)));
            truth.last = Some(Moment::of(at_ns));
        }
        truths.extend((truth.packets > 0).then_some(truth));
    }
    packets.sort_by_key(|(at_ns, _)| *at_ns);
    (packets, truths)
}

/// Numbers that are lost: runs of as many as are repeated, or of one to three more.
fn runs(count: u16, repeats: u8, gone: bool, random: &mut Random) -> Vec<u16> {
    let (mut lost, mut at) = (Vec::new(), 10);
    while at + 20 < count {
        let repeats = i64::from(repeats);
        let run = if gone { repeats + random.between(1, 3) } else { random.between(1, repeats) } as u16;
        lost.extend(at..at + run);
        at += run + random.between(12, 25) as u16;
    }
    lost
}

/// A packet with a part of a page, and those before it.
fn udptl(number: u16, repeats: u8) -> Vec<u8> {
    let page = |number: u16| {
        let mut octets = vec![PAGE_OCTETS as u8 + 4, 0xc0, 1, 0x80, PAGE_OCTETS as u8];
        octets.extend((0..PAGE_OCTETS).map(|n| (usize::from(number) * 31 + n) as u8));
        octets
    };
    let earlier = u16::from(repeats).min(number);
    let mut octets = number.to_be_bytes().to_vec();
    octets.extend(page(number));
    octets.extend([0, earlier as u8]);
    (1..=earlier).for_each(|back| octets.extend(page(number - back)));
    octets
}
