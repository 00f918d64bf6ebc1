//! How the length of a payload tells the time that it fills.

/// How a payload fills time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Framing {
    /// Samples without frames: so many octets a millisecond, after a header of so many octets.
    Samples {
        /// Octets a millisecond.
        octets_per_ms: f32,
        /// Octets before the samples.
        header: u16,
    },
    /// Frames of one length; a rest of `silence_octets` is a silence descriptor that fills one more frame's time.
    Frames {
        /// Octets of a frame.
        octets: u16,
        /// Milliseconds of a frame.
        ms: u16,
        /// Octets of a silence descriptor; 0 where there is none.
        silence_octets: u16,
    },
    /// iLBC (RFC 3952): frames of 38 octets for 20 ms or of 50 for 30 ms.
    Ilbc,
    /// G.723.1 (RFC 3551 section 4.5.3): 30 ms a frame, its length by the two low bits of its first octet.
    G723,
    /// Opus (RFC 6716 section 3.1): the first octet tells the frame's duration and how frames are packed.
    Opus,
    /// The length does not tell: timestamps must.
    Timestamps,
}

impl Framing {
    /// Time that a payload fills, milliseconds; none where its length does not tell.
    pub(super) fn payload_ms(&self, payload: &[u8], octets: u32) -> Option<f32> {
        match *self {
            Framing::Samples { octets_per_ms, header } => {
                let samples = octets.checked_sub(u32::from(header)).filter(|&n| n > 0)?;
                Some(samples as f32 / octets_per_ms)
            }
            Framing::Frames { octets: frame, ms, silence_octets } => {
                let (frames, rest) = (octets / u32::from(frame), octets % u32::from(frame));
                let silence = rest != 0 && rest == u32::from(silence_octets);
                let frames = frames + u32::from(silence);
                (frames > 0 && (rest == 0 || silence)).then_some((frames * u32::from(ms)) as f32)
            }
            Framing::Ilbc => match octets {
                0 => None,
                n if n % 50 == 0 => Some((n / 50 * 30) as f32),
                n if n % 38 == 0 => Some((n / 38 * 20) as f32),
                _ => None,
            },
            Framing::G723 => g723_ms(payload, octets),
            Framing::Opus => opus_ms(payload),
            Framing::Timestamps => None,
        }
    }
}

/// Walks the frames as far as they were captured; what is cut is taken for frames like the first.
fn g723_ms(payload: &[u8], octets: u32) -> Option<f32> {
    let (mut at, mut frames) = (0u32, 0u32);
    let first = g723_frame(*payload.first()?)?;
    while at < octets {
        let length = payload.get(at as usize).map_or(Some(first), |&o| g723_frame(o))?;
        at += length;
        frames += 1;
    }
    (at == octets).then_some((frames * 30) as f32)
}

fn g723_frame(first: u8) -> Option<u32> {
    [Some(24), Some(20), Some(4), None][usize::from(first & 3)]
}

fn opus_ms(payload: &[u8]) -> Option<f32> {
    let toc = *payload.first()?;
    let configuration = toc >> 3;
    let frame_ms = match configuration {
        0..=11 => [10.0, 20.0, 40.0, 60.0][usize::from(configuration & 3)],
        12..=15 => [10.0, 20.0][usize::from(configuration & 1)],
        _ => [2.5, 5.0, 10.0, 20.0][usize::from(configuration & 3)],
    };
    let frames = match toc & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => payload.get(1)? & 0x3f,
    };
    let ms = frame_ms * f32::from(frames);
    (frames > 0 && ms <= 120.0).then_some(ms)
}

#[cfg(test)]
mod tests {
    use crate::codec::Codec;

    fn ms(name: &str, payload: &[u8]) -> Option<f32> {
        Codec::by_name(name, None).unwrap().payload_ms(payload, payload.len() as u32)
    }

    #[test]
    fn lengths_tell_the_packet_time() {
        assert_eq!(ms("PCMA", &[0; 160]), Some(20.0));
        assert_eq!(ms("G722", &[0; 240]), Some(30.0));
        assert_eq!(ms("G726-32", &[0; 80]), Some(20.0));
        assert_eq!(ms("G729", &[0; 20]), Some(20.0));
        assert_eq!(ms("G729", &[0; 12]), Some(20.0), "a frame and a silence descriptor");
        assert_eq!(ms("G729", &[0; 2]), Some(10.0));
        assert_eq!(ms("G729", &[0; 13]), None);
        assert_eq!(ms("GSM", &[0; 33]), Some(20.0));
        assert_eq!(ms("iLBC", &[0; 100]), Some(60.0));
        assert_eq!(ms("iLBC", &[0; 38]), Some(20.0));
        assert_eq!(ms("PCMU", &[]), None);
    }

    #[test]
    fn g723_frames_are_walked() {
        let mut two = vec![0u8; 44];
        two[24] = 1;
        assert_eq!(ms("G723", &two), Some(60.0), "24 octets at 6.3 kbit/s and 20 at 5.3");
        assert_eq!(ms("G723", &[2, 0, 0, 0]), Some(30.0));
        assert_eq!(ms("G723", &[3; 24]), None);
        let cut = Codec::by_name("G723", None).unwrap().payload_ms(&[0; 4], 48);
        assert_eq!(cut, Some(60.0));
    }

    #[test]
    fn opus_tells_its_duration() {
        assert_eq!(ms("opus", &[0x78, 1]), Some(20.0), "CELT-only fullband, 20 ms, one frame");
        assert_eq!(ms("opus", &[0x79, 1]), Some(40.0));
        assert_eq!(ms("opus", &[0x7b, 3]), Some(60.0));
        assert_eq!(ms("opus", &[0x7b, 0x3f]), None, "more than 120 ms cannot be");
    }
}
