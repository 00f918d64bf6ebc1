//! From the course of a call to the streams that its parties send.

use crate::codec::Codec;
use crate::impair::{Impairment, Loss};
use crate::plot::Plot;
use crate::random::Random;
use crate::scene::{Host, Party, Scene};
use crate::script::Media;
use crate::stream::{Prompt, Spec};
use crate::truth::Who;

/// The first stream of a call that changes its SSRC at once lives this long.
const SHORT_STREAM_NS: i64 = 1_000_000_000;

/// All streams of a call.
pub(crate) fn streams(scene: &Scene, plot: &Plot, media: &Media, rtcp: bool, random: &mut Random) -> Vec<Spec> {
    let mut specs = Vec::with_capacity(2);
    for (side, party) in [Party::Caller, Party::Callee].into_iter().enumerate() {
        if let Some((start_ns, stop_ns)) = media.spans[side] {
            let mut spec = spec(scene, plot, media, party);
            (spec.start_ns, spec.stop_ns, spec.rtcp) = (start_ns, stop_ns, rtcp);
            if side == 0 {
                spec.digits = digits(plot, media, stop_ns, random);
            } else if plot.prompts {
                play(&mut spec, random);
            }
            specs.push(spec);
        }
    }
    if plot.new_ssrc
        && media.answer_ns.is_some()
        && let Some(first) = specs.first_mut().filter(|s| s.who == Who::Caller)
    {
        let second = split(first, plot, random);
        specs.insert(1, second);
    }
    specs
}

fn spec(scene: &Scene, plot: &Plot, media: &Media, from: Party) -> Spec {
    let side = from.side();
    let (here, there): (&Host, &Host) = (scene.host(from), scene.host(from.other()));
    let strange = plot.strange && from == Party::Callee;
    let codec = if strange { strange_codec(scene.codec) } else { scene.codec };
    let mut path_ns = scene.path_ns;
    if side == 1 {
        path_ns.reverse();
    }
    Spec {
        who: if side == 0 { Who::Caller } else { Who::Callee },
        ssrc: scene.ssrcs[side],
        from: here.media_seen,
        to: there.media_seen,
        mux: scene.mux,
        rtcp: false,
        start_ns: 0,
        stop_ns: 0,
        pauses: media.pauses[side].clone(),
        codec,
        ptime_ms: codec.whole_ptime(scene.ptime_ms),
        map: there.map,
        change: media.change.filter(|_| !strange).map(|(codec, at)| (at[side], codec)),
        digits: Vec::new(),
        prompts: Vec::new(),
        discontinuous: scene.discontinuous,
        impairment: plot.impairments[side],
        lost_behind: plot.lost_behind[side],
        path_ns,
    }
}

/// A codec with a payload type that everybody knows and nobody agreed on.
fn strange_codec(agreed: Codec) -> Codec {
    match agreed {
        Codec::G729 => Codec::Pcmu,
        _ => Codec::G729,
    }
}

/// Digits from two seconds after the answer on, 300 ms apart, as long as there is time.
fn digits(plot: &Plot, media: &Media, stop_ns: i64, random: &mut Random) -> Vec<(i64, u8)> {
    let Some(answer_ns) = media.answer_ns else { return Vec::new() };
    let at = |n: u8| answer_ns + 2_000_000_000 + i64::from(n) * 400_000_000;
    (0..plot.digits).map(|n| (at(n), random.below(12) as u8)).filter(|(at, _)| at + 500_000_000 < stop_ns).collect()
}

/// A prompt each few seconds, as media servers play them: at another base of timestamps, with numbers of its own for
/// the time of one prompt, or after a pause that is not counted.
fn play(spec: &mut Spec, random: &mut Random) {
    let held = !spec.pauses.is_empty();
    let clock = i64::from(spec.codec.clock_rate());
    let ptime_ns = i64::from(spec.ptime_ms) * 1_000_000;
    let (mut timestamps, mut numbers) = (0i64, 0u16);
    let mut at_ns = spec.start_ns;
    loop {
        at_ns += random.between(1_500_000_000, 6_000_000_000);
        if at_ns + 3_000_000_000 >= spec.stop_ns {
            return;
        }
        match random.below(4) {
            0 if !held => {
                let pause_ns = random.between(20, 150) * ptime_ns;
                spec.pauses.push((at_ns, at_ns + pause_ns));
                at_ns += pause_ns;
                timestamps -= pause_ns / 1_000_000 * clock / 1000;
            }
            // Numbers go back to those of the stream after the prompt.
            1 if numbers == 0 => {
                numbers = random.between(200, 2900) as u16;
                timestamps += random.between(5, 400) * clock;
            }
            1 => (numbers, timestamps) = (0, timestamps - random.between(5, 400) * clock),
            2 => timestamps += random.between(300, 60_000) * clock / 1000,
            _ => timestamps -= random.between(300, 60_000) * clock / 1000,
        }
        let marked = random.chance(0.5);
        spec.prompts.push(Prompt { at_ns, timestamps: timestamps as u32, numbers, marked });
    }
}

/// Another SSRC from somewhere on: the second half becomes a stream of its own.
fn split(first: &mut Spec, plot: &Plot, random: &mut Random) -> Spec {
    let life = if plot.short_first { SHORT_STREAM_NS } else { (first.stop_ns - first.start_ns) / 2 };
    let at = first.start_ns + life;
    let mut second = Spec { ssrc: random.bits() as u32, start_ns: at, ..first.clone() };
    first.stop_ns = at;
    first.digits.retain(|(pressed, _)| pressed + 500_000_000 < at);
    second.digits.retain(|(pressed, _)| *pressed >= at);
    if plot.short_first {
        first.impairment = Impairment { loss: Loss::Every(15), ..Impairment::default() };
    }
    second
}
