//! Streams of lz4 frames: one after another, with skippable frames between, and told when cut short.

use std::io::{self, BufRead, Read};

use lz4_flex::frame::{Error, FrameDecoder};

/// Magic number of the legacy format, which has no mark at its end.
const LEGACY: [u8; 4] = [0x02, 0x21, 0x4c, 0x18];
/// Magic number of a frame.
const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// Decompresses lz4 frames.
pub(crate) struct Lz4<R: BufRead> {
    decoder: FrameDecoder<Trail<R>>,
    /// Whether the end of the input may come without a mark.
    legacy: bool,
    ended: bool,
}

impl<R: BufRead> Lz4<R> {
    pub(crate) fn new(mut inner: R) -> io::Result<Self> {
        let legacy = inner.fill_buf()?.starts_with(&LEGACY);
        Ok(Lz4 { decoder: FrameDecoder::new(Trail { inner, last: [0; 4], probing: false }), legacy, ended: false })
    }

    pub(crate) fn get_ref(&self) -> &R {
        &self.decoder.get_ref().inner
    }

    /// Passes over a skippable frame whose header was read.
    fn skip(&mut self, octets: u32) -> io::Result<()> {
        let trail = self.decoder.get_mut();
        let skipped = io::copy(&mut (&mut trail.inner).take(octets.into()), &mut io::sink())?;
        if skipped < octets.into() { Err(cut()) } else { Ok(()) }
    }
}

impl<R: BufRead> Lz4<R> {
    /// Whether the input ended inside a frame. The decoder takes a missing end mark for an end; given octets that are
    /// neither block nor frame it says which of the two it waits for.
    fn is_cut(&mut self) -> bool {
        let trail = self.decoder.get_mut();
        if trail.last == MAGIC {
            return true;
        }
        trail.probing = true;
        let waits = self.decoder.read(&mut [0]);
        self.decoder.get_mut().probing = false;
        let error = waits.err();
        let error = error.as_ref().and_then(|e| e.get_ref()).and_then(|e| e.downcast_ref::<Error>());
        !matches!(error, Some(Error::WrongMagicNumber))
    }
}

impl<R: BufRead> Read for Lz4<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() || self.ended {
            return Ok(0);
        }
        loop {
            match self.decoder.read(out) {
                // The end of a frame, of an empty block, or of the input.
                Ok(0) if self.decoder.get_mut().inner.fill_buf()?.is_empty() => {
                    self.ended = true;
                    return if self.legacy || !self.is_cut() { Ok(0) } else { Err(cut()) };
                }
                Ok(0) => {}
                Ok(n) => return Ok(n),
                Err(e) => match skippable(&e) {
                    Some(octets) => self.skip(octets)?,
                    None => return Err(e),
                },
            }
        }
    }
}

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the last frame is cut short")
}

fn skippable(e: &io::Error) -> Option<u32> {
    match e.get_ref()?.downcast_ref::<Error>()? {
        Error::SkippableFrame(octets) => Some(*octets),
        _ => None,
    }
}

/// Remembers the last octets that went through, and answers with ones where the input has ended when `probing`.
struct Trail<R> {
    inner: R,
    last: [u8; 4],
    probing: bool,
}

impl<R: Read> Read for Trail<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.probing {
            out.fill(0xff);
            return Ok(out.len());
        }
        let n = self.inner.read(out)?;
        let new = &out[..n];
        let kept = new.len().min(4);
        self.last.copy_within(kept.., 0);
        self.last[4 - kept..].copy_from_slice(&new[new.len() - kept..]);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use lz4_flex::frame::FrameEncoder;

    use super::*;

    fn frame(octets: &[u8]) -> Vec<u8> {
        let mut encoder = FrameEncoder::new(Vec::new());
        encoder.write_all(octets).unwrap();
        encoder.finish().unwrap()
    }

    fn read(octets: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        Lz4::new(octets)?.read_to_end(&mut out)?;
        Ok(out)
    }

    #[test]
    fn frames_follow_each_other_and_may_be_skipped() {
        let mut octets = frame(b"one");
        octets.extend([0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9]);
        octets.extend(frame(b"two"));
        octets.extend([0x5f, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]);
        assert_eq!(read(&octets).unwrap(), b"onetwo");
    }

    #[test]
    fn a_missing_end_mark_is_told() {
        let octets = frame(b"one");
        for cut in 1..octets.len() {
            assert!(read(&octets[..cut]).is_err(), "{cut}");
        }
    }
}
