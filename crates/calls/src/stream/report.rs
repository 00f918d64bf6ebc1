//! What is told of a stream: all of it, and the interval under way.

use super::{Analyzer, INTERVAL_NS, narrow, score, signed_difference};
use trunkline_audio::e_model::Loss;
use trunkline_store::row::{Mos, RtcpSummary, Stream, StreamInterval};

/// How a number that a receiver names stands to those of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Below the first.
    Before,
    /// Among them, as far as is known.
    Within,
    /// Above the last.
    Behind,
}

impl Analyzer {
    /// How a sequence number stands to those that came.
    pub fn place_of(&self, number: u16) -> Place {
        let below = (self.sequences.highest() as u16).wrapping_sub(number);
        let is_even = self.sequences.restarts == 0 && self.sequences.strays == 0;
        match () {
            () if below > u16::MAX / 2 => Place::Behind,
            () if is_even && u64::from(below) >= self.sequences.expected() => Place::Before,
            () => Place::Within,
        }
    }

    /// All that is known of the stream so far; identity, addresses and places in files are left for the caller.
    pub fn report(&self) -> Stream {
        let (jitter_mean_ms, jitter_max_ms) = self.timing.jitter_ms();
        let judged = self.sequences.judged();
        let expected = self.sequences.expected();
        let loss = Loss::counted(judged.lost.into(), judged.bursts.into(), expected);
        let rtcp = self.reports.as_ref().map(|r| r.summary(self.clock_rate)).unwrap_or_default();
        Stream {
            codec: self.codec_names(),
            clock_rate: self.first_clock_rate(),
            payload_types: self.types[..usize::from(self.types_seen)].to_vec(),
            ptime_ms: self.pace.packet_ms(),
            packets: self.packets,
            octets: self.octets,
            expected,
            lost: signed_difference(expected, self.packets),
            missing: self.sequences.missing(),
            duplicates: self.sequences.copies,
            reordered: self.sequences.reordered,
            jitter_mean_ms,
            jitter_max_ms,
            discarded: self.sequences.late,
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            mos: self.scores(loss),
            burst_ratio: (judged.lost > 0).then_some(loss.burst_ratio as f32),
            loss_runs: judged.runs,
            delay_histogram: self.timing.histogram(),
            talkspurts: self.pace.talkspurts,
            comfort_noise: self.comfort_noise,
            dtmf: self.rare.as_ref().map(|r| r.events.text()).unwrap_or_default(),
            mos_receiver: self.score_at_receiver(&rtcp, judged.lost.into(), judged.bursts.into()),
            rtcp,
            skew_ppm: self.timing.skew_ppm(),
            timestamp_jumps: self.timing.jumps,
            sequence_jumps: self.sequences.restarts,
            ..Stream::default()
        }
    }

    /// The score with what the receiver lost behind the tap, each packet of it alone: it does not tell in what runs.
    fn score_at_receiver(&self, rtcp: &RtcpSummary, lost: u64, bursts: u64) -> Option<f32> {
        if rtcp.lost_after_tap == 0 {
            return None;
        }
        let expected = self.sequences.expected();
        let share = rtcp.lost_after_tap as f64 / rtcp.passed.max(1) as f64;
        let more = (share * expected.saturating_sub(lost) as f64) as u64;
        let loss = Loss::counted(lost + more, bursts + more, expected);
        score::listening(self.speech, self.pace.speech_octets, loss, self.modelled).map(|(mos, _)| mos)
    }

    /// The interval that is under way; none if no packet came in it.
    pub fn interval(&self) -> Option<StreamInterval> {
        let start = &self.interval;
        let packets = self.packets - start.packets;
        if packets == 0 {
            return None;
        }
        let (jitter_mean_ms, jitter_max_ms) = self.timing.interval_jitter_ms();
        let (judged, numbers) = self.sequences.judged_after(start.highest);
        let loss = Loss::counted(judged.lost.into(), judged.bursts.into(), numbers);
        let mos = score::listening(self.speech, self.pace.speech_octets, loss, self.modelled - start.modelled);
        Some(StreamInterval {
            index: start.index,
            start_ns: self.interval_end_ns().saturating_sub(INTERVAL_NS),
            packets: narrow(packets),
            missing: narrow(self.sequences.missing().saturating_sub(start.missing)),
            duplicates: narrow(self.sequences.copies - start.copies),
            reordered: narrow(self.sequences.reordered - start.reordered),
            jitter_mean_ms: jitter_mean_ms as f32,
            jitter_max_ms: jitter_max_ms as f32,
            mos: mos.map(|(mos, _)| mos),
            mos_vm: self.interval_scores(),
            transit: self.timing.interval_transit(),
            round_trip_ms: self.reports.as_ref().and_then(|r| r.interval_round_trip_ms),
            ..StreamInterval::default()
        })
    }

    fn scores(&self, loss: Loss) -> Mos {
        let g107 = score::listening(self.speech, self.pace.speech_octets, loss, self.modelled);
        let mut mean = self.scores;
        let start_ns = self.interval_end_ns().saturating_sub(INTERVAL_NS);
        mean.add(self.interval_scores(), (self.last_ns.saturating_sub(start_ns) as f64 * 1e-9).max(0.001));
        let [vm_f1, vm_f2, vm_adapt] = mean.scores();
        let wideband = g107.is_some_and(|(_, wideband)| wideband);
        Mos { g107: g107.map(|(mos, _)| mos), wideband, vm_f1, vm_f2, vm_adapt }
    }

    fn codec_names(&self) -> String {
        let names: Vec<String> =
            self.types[..usize::from(self.types_seen)].iter().map(|&t| self.payloads.name(t)).collect();
        names.join(", ")
    }

    fn first_clock_rate(&self) -> u32 {
        self.types[..usize::from(self.types_seen)].first().map_or(0, |&t| self.payloads.clock_rate(t))
    }
}
