//! RTCP compound packets (RFC 3550 section 6): sender report with one report block, and CNAME.

/// What a receiver says about a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    /// The stream.
    pub ssrc: u32,
    /// Lost since the last report, of 256.
    pub fraction: u8,
    /// Cumulative, 24 bits with sign.
    pub lost: i32,
    /// Highest extended sequence number.
    pub highest: u32,
    /// Jitter in units of the stream's clock.
    pub jitter: u32,
    /// Middle of the NTP time of the last sender report, 0 if none.
    pub last_report: u32,
    /// Since that one, in 1/65,536 s.
    pub delay: u32,
}

/// What a sender says about its own.
pub(crate) struct Sender {
    pub ssrc: u32,
    pub ntp: u64,
    pub timestamp: u32,
    pub packets: u64,
    pub octets: u64,
}

/// NTP time (RFC 3550 section 4): seconds since 1900 and their fraction.
pub(crate) fn ntp(at_ns: i64) -> u64 {
    let (s, ns) = (at_ns.div_euclid(1_000_000_000) as u64, at_ns.rem_euclid(1_000_000_000) as u64);
    ((s + 2_208_988_800) << 32) | ((ns << 32) / 1_000_000_000)
}

/// A compound packet: SR, then SDES with CNAME.
pub(crate) fn compound(sender: &Sender, about: Option<Report>) -> Vec<u8> {
    let mut out = Vec::with_capacity(80);
    let blocks = u8::from(about.is_some());
    out.extend_from_slice(&[0x80 | blocks, 200, 0, 6 + 6 * blocks]);
    out.extend_from_slice(&sender.ssrc.to_be_bytes());
    out.extend_from_slice(&sender.ntp.to_be_bytes());
    out.extend_from_slice(&sender.timestamp.to_be_bytes());
    out.extend_from_slice(&(sender.packets as u32).to_be_bytes());
    out.extend_from_slice(&(sender.octets as u32).to_be_bytes());
    if let Some(report) = about {
        block(&mut out, &report);
    }
    describe(&mut out, sender.ssrc);
    out
}

/// A report block (section 6.4.1).
fn block(out: &mut Vec<u8>, report: &Report) {
    out.extend_from_slice(&report.ssrc.to_be_bytes());
    let lost = report.lost.clamp(-0x80_0000, 0x7f_ffff) as u32 & 0xff_ffff;
    out.extend_from_slice(&(u32::from(report.fraction) << 24 | lost).to_be_bytes());
    for word in [report.highest, report.jitter, report.last_report, report.delay] {
        out.extend_from_slice(&word.to_be_bytes());
    }
}

/// Source description (section 6.5): one chunk, CNAME of 16 octets, two octets of end and padding.
fn describe(out: &mut Vec<u8>, ssrc: u32) {
    out.extend_from_slice(&[0x81, 202, 0, 6]);
    out.extend_from_slice(&ssrc.to_be_bytes());
    out.extend_from_slice(&[1, 16]);
    out.extend_from_slice(format!("{ssrc:08x}@tap.sim").as_bytes().get(..16).unwrap_or(&[0; 16]));
    out.extend_from_slice(&[0, 0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_in_words_minus_one() {
        let sender = Sender { ssrc: 1, ntp: ntp(0), timestamp: 2, packets: 3, octets: 4 };
        let report = Report { ssrc: 9, fraction: 1, lost: -2, highest: 70_000, jitter: 3, last_report: 4, delay: 5 };
        let packet = compound(&sender, Some(report));
        let sr = (usize::from(packet[3]) + 1) * 4;
        let sdes = (usize::from(packet[sr + 3]) + 1) * 4;
        assert_eq!(sr + sdes, packet.len());
        assert_eq!(packet[33..36], [0xff, 0xff, 0xfe]);
        assert_eq!(ntp(500_000_000), 2_208_988_800 << 32 | 0x8000_0000);
    }
}
