//! Blocks of RTCP extended reports (RFC 3611): the VoIP metrics are read, the others named by type and skipped.

/// VoIP metrics (RFC 3611 section 4.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoipMetrics {
    /// The source that is reported on.
    pub ssrc: u32,
    /// Packets lost in the network, of 256.
    pub loss_rate: u8,
    /// Packets discarded by the jitter buffer, of 256.
    pub discard_rate: u8,
    /// Loss and discard within bursts, of 256.
    pub burst_density: u8,
    /// Loss and discard within gaps, of 256.
    pub gap_density: u8,
    /// Mean length of bursts, milliseconds.
    pub burst_ms: u16,
    /// Mean length of gaps, milliseconds.
    pub gap_ms: u16,
    /// Round-trip delay between RTP interfaces, milliseconds; 0 if not known.
    pub round_trip_ms: u16,
    /// Delay within the end system, milliseconds.
    pub end_system_ms: u16,
    /// Signal level in dBm0; none if unavailable (127).
    pub signal_dbm0: Option<i8>,
    /// Noise level in dBm0; none if unavailable (127).
    pub noise_dbm0: Option<i8>,
    /// Residual echo return loss in dB; none if unavailable (127).
    pub echo_return_loss_db: Option<u8>,
    /// Gap threshold Gmin.
    pub gap_threshold: u8,
    /// R factor of the RTP path, 0..=100; none if unavailable (127).
    pub r_factor: Option<u8>,
    /// R factor of an external segment; none if unavailable (127).
    pub external_r_factor: Option<u8>,
    /// Listening quality, MOS times ten, 10..=50; none if unavailable (127).
    pub mos_lq_10: Option<u8>,
    /// Conversational quality, MOS times ten, 10..=50; none if unavailable (127).
    pub mos_cq_10: Option<u8>,
    /// Receiver configuration: concealment and jitter buffer.
    pub configuration: u8,
    /// Nominal delay of the jitter buffer, milliseconds.
    pub buffer_nominal_ms: u16,
    /// Current maximum delay of the jitter buffer, milliseconds.
    pub buffer_maximum_ms: u16,
    /// Absolute maximum delay of the jitter buffer, milliseconds.
    pub buffer_absolute_ms: u16,
}

impl VoipMetrics {
    const BLOCK_TYPE: u8 = 7;
    const OCTETS: usize = 32;

    fn new(body: &[u8]) -> Option<VoipMetrics> {
        let o = body.first_chunk::<{ Self::OCTETS }>()?;
        let short = |at: usize| u16::from_be_bytes([o[at], o[at + 1]]);
        let known = |at: usize| (o[at] != 127).then_some(o[at]);
        Some(VoipMetrics {
            ssrc: u32::from_be_bytes([o[0], o[1], o[2], o[3]]),
            loss_rate: o[4],
            discard_rate: o[5],
            burst_density: o[6],
            gap_density: o[7],
            burst_ms: short(8),
            gap_ms: short(10),
            round_trip_ms: short(12),
            end_system_ms: short(14),
            signal_dbm0: known(16).map(|v| v as i8),
            noise_dbm0: known(17).map(|v| v as i8),
            echo_return_loss_db: known(18),
            gap_threshold: o[19],
            r_factor: known(20),
            external_r_factor: known(21),
            mos_lq_10: known(22),
            mos_cq_10: known(23),
            configuration: o[24],
            buffer_nominal_ms: short(26),
            buffer_maximum_ms: short(28),
            buffer_absolute_ms: short(30),
        })
    }
}

/// A block of an extended report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtendedBlock {
    /// VoIP metrics.
    VoipMetrics(VoipMetrics),
    /// A block of another type, or one too short for its type.
    Other(u8),
}

/// The blocks of an extended report, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtendedBlocks<'a>(&'a [u8]);

impl<'a> ExtendedBlocks<'a> {
    pub(super) fn new(octets: &'a [u8]) -> Self {
        ExtendedBlocks(octets)
    }
}

impl Iterator for ExtendedBlocks<'_> {
    type Item = ExtendedBlock;

    fn next(&mut self) -> Option<ExtendedBlock> {
        let (h, rest) = self.0.split_first_chunk::<4>()?;
        let octets = 4 * usize::from(u16::from_be_bytes([h[2], h[3]]));
        let (body, next) = rest.split_at(octets.min(rest.len()));
        self.0 = next;
        let metrics = if h[0] == VoipMetrics::BLOCK_TYPE { VoipMetrics::new(body) } else { None };
        Some(metrics.map_or(ExtendedBlock::Other(h[0]), ExtendedBlock::VoipMetrics))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_voip_metrics_and_names_the_rest() {
        let mut o = vec![4, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 8, 0, 0, 0, 9, 13, 2, 128, 1];
        o.extend([0, 200, 4, 0, 0, 90, 0, 40, 0xec, 127, 50, 16, 88, 127, 42, 41, 0xb0, 0, 0, 60, 0, 120, 0, 200]);
        let blocks: Vec<_> = ExtendedBlocks::new(&o).collect();
        assert_eq!(blocks[0], ExtendedBlock::Other(4));
        let ExtendedBlock::VoipMetrics(m) = blocks[1] else { panic!() };
        assert_eq!((m.ssrc, m.loss_rate, m.discard_rate, m.burst_ms, m.gap_ms), (9, 13, 2, 200, 1024));
        assert_eq!((m.round_trip_ms, m.signal_dbm0, m.noise_dbm0, m.gap_threshold), (90, Some(-20), None, 16));
        assert_eq!((m.r_factor, m.external_r_factor, m.mos_lq_10, m.mos_cq_10), (Some(88), None, Some(42), Some(41)));
        assert_eq!((m.buffer_nominal_ms, m.buffer_maximum_ms, m.buffer_absolute_ms), (60, 120, 200));
        assert_eq!(ExtendedBlocks::new(&o[..20]).last(), Some(ExtendedBlock::Other(7)));
    }
}
