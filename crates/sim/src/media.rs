//! From the course of a call to the streams that its parties send.

use crate::codec::Codec;
use crate::impair::{Impairment, Loss};
use crate::mixture::{Relay, Video};
use crate::passage;
use crate::plot::Plot;
use crate::random::Random;
use crate::scene::{Host, Party, Scene, video_of};
use crate::script::Media;
use crate::spec::{Prompt, Spec};
use crate::truth::Who;
use trunkline_wire::Endpoint;

/// The first stream of a call that changes its SSRC at once lives this long.
const SHORT_STREAM_NS: i64 = 1_000_000_000;

/// Who answers is heard at least so long before a pause.
const SPEAKS_FIRST_NS: i64 = 1_500_000_000;

/// A machine speaks at least so long before the call ends.
const LAST_HEARD_NS: i64 = 2_000_000_000;

/// A digit is over after this.
const DIGIT_NS: i64 = 400_000_000;

/// All streams of a call.
pub(crate) fn streams(scene: &Scene, plot: &Plot, media: &Media, rtcp: bool, random: &mut Random) -> Vec<Spec> {
    let mut specs = Vec::with_capacity(2);
    for (side, party) in [Party::Caller, Party::Callee].into_iter().enumerate() {
        if let Some((start_ns, stop_ns)) = media.spans[side] {
            let mut spec = spec(scene, plot, media, party);
            (spec.start_ns, spec.stop_ns, spec.rtcp) = (start_ns, stop_ns, rtcp);
            if side == 0 {
                spec.digits = digits(plot, media, stop_ns, random);
                // Nobody dials while the call is held, nor into it.
                spec.digits.retain(|(at, _)| spec.pauses.iter().all(|(from, to)| at + DIGIT_NS < *from || at >= to));
            } else if plot.prompts {
                play(&mut spec, media.answer_ns.unwrap_or(i64::MAX), random);
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
    if let Some((at_ns, moved)) = media.handover {
        hand_over(&mut specs, scene, at_ns, moved, random);
    }
    if matches!(scene.sections.video, Video::Sent | Video::Bundled) {
        let pictures: Vec<Spec> = specs.iter().filter_map(|spec| video(spec, scene, media, random)).collect();
        specs.extend(pictures);
    }
    if scene.anchors.is_some() {
        let behind: Vec<Spec> = specs.iter_mut().map(|spec| pass_on(spec, scene, random)).collect();
        specs.extend(behind);
    }
    passage::through(&mut specs, scene, plot, media.answer_ns);
    for spec in specs.iter_mut().filter(|spec| !spec.codec.is_video()) {
        spec.control = scene.control(spec.from).zip(scene.control(spec.to)).map(<[Endpoint; 2]>::from);
    }
    specs
}

/// Another machine speaks on for the callee: a stream of its own, from another address or the same one.
fn hand_over(specs: &mut Vec<Spec>, scene: &Scene, at_ns: i64, moved: bool, random: &mut Random) {
    let mut later = Vec::new();
    for spec in specs.iter_mut().filter(|spec| moved || spec.who == Who::Callee) {
        if moved && spec.start_ns + 500_000_000 >= at_ns {
            // All of it is behind that.
            spec.start_ns = spec.start_ns.max(at_ns);
            let end = if spec.who == Who::Callee { &mut spec.from } else { &mut spec.to };
            *end = scene.agent;
            continue;
        }
        if spec.stop_ns <= at_ns + 500_000_000 || spec.start_ns + 500_000_000 >= at_ns {
            continue;
        }
        let mut second = Spec { start_ns: at_ns, prompts: Vec::new(), ..spec.clone() };
        spec.stop_ns = at_ns;
        if spec.who == Who::Callee {
            second.ssrc = random.bits() as u32;
            second.from = if moved { scene.agent } else { second.from };
        } else {
            second.to = scene.agent;
            spec.digits.retain(|(pressed, _)| pressed + 500_000_000 < at_ns);
            second.digits.retain(|(pressed, _)| *pressed >= at_ns);
        }
        later.push(second);
    }
    specs.extend(later);
}

/// The video that goes with audio once the call is answered.
fn video(audio: &Spec, scene: &Scene, media: &Media, random: &mut Random) -> Option<Spec> {
    let start_ns = audio.start_ns.max(media.answer_ns? + 150_000_000);
    (start_ns < audio.stop_ns).then(|| Spec {
        ssrc: random.bits() as u32,
        from: video_of(audio.from, scene.sections),
        to: video_of(audio.to, scene.sections),
        start_ns,
        codec: scene.video_codec(),
        ptime_ms: 40,
        change: None,
        digits: Vec::new(),
        prompts: Vec::new(),
        discontinuous: false,
        impairment: Impairment::default(),
        lost_behind: 0.0,
        ..audio.clone()
    })
}

/// A relay between the two takes a stream and sends it on, with what it heard made whole.
fn pass_on(spec: &mut Spec, scene: &Scene, random: &mut Random) -> Spec {
    let anchors = scene.anchors.unwrap_or([spec.from; 2]);
    let at = |n: usize| {
        let audio = anchors[n];
        if spec.codec.is_video() { video_of(audio, scene.sections) } else { audio }
    };
    let (near, far) = (at(0), at(1));
    let passed = Spec {
        ssrc: if scene.relay == Relay::Proxy { spec.ssrc } else { random.bits() as u32 },
        hop: 1,
        impairment: Impairment::default(),
        lost_behind: 0.0,
        start_ns: spec.start_ns + 3_000_000,
        ..spec.clone()
    };
    if spec.who == Who::Caller {
        let passed = Spec { from: far, ..passed };
        spec.to = near;
        return passed;
    }
    // What it sends to the caller is on the first leg.
    let from_callee = Spec { to: far, hop: 1, ..spec.clone() };
    *spec = Spec { from: near, hop: 0, ..passed };
    from_callee
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
        hop: 0,
        ssrc: scene.ssrcs[side],
        from: here.media_seen,
        to: there.media_seen,
        mux: scene.mux,
        control: None,
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
        around: None,
        over_tcp: false,
        encrypted: false,
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
fn play(spec: &mut Spec, answer_ns: i64, random: &mut Random) {
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
            // A machine that is silent when it answers is late.
            0 if !held && at_ns >= answer_ns.saturating_add(SPEAKS_FIRST_NS) => {
                // Nor one that is silent until the end.
                let pause_ns = (random.between(20, 150) * ptime_ns).min(spec.stop_ns - at_ns - LAST_HEARD_NS);
                let pause_ns = pause_ns / ptime_ns * ptime_ns;
                spec.pauses.push((at_ns, at_ns + pause_ns));
                at_ns += pause_ns;
                timestamps -= pause_ns / 1_000_000 * clock / 1000;
            }
            // Numbers go back to those of the stream after the prompt; while a call is held they stay, or packets would
            // be missing.
            1 if held => timestamps += random.between(5, 400) * clock,
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
