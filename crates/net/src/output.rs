//! What a service says on a connection, gathered in a buffer of the thread.

/// Where a service writes. All that is said in a turn goes out in one system call.
#[derive(Debug)]
pub struct Output<'a> {
    octets: &'a mut Vec<u8>,
    /// Octets that the buffer may hold.
    most: usize,
    overflowed: &'a mut bool,
}

impl<'a> Output<'a> {
    pub(crate) fn new(octets: &'a mut Vec<u8>, most: usize, overflowed: &'a mut bool) -> Output<'a> {
        Output { octets, most, overflowed }
    }

    /// Octets that may still be said before [`crate::Next::Resume`]: at the first call of a turn with nothing stuck
    /// [`crate::Limits::output_octets`], or a little less for TLS.
    pub fn room(&self) -> usize {
        self.most - self.octets.len()
    }

    /// Says these octets. More than [`Output::room`] are not said, and the connection is closed, counted as
    /// [`crate::Cause::Output`]: half an answer would put all that follow in the wrong place.
    pub fn put(&mut self, octets: &[u8]) {
        if octets.len() <= self.room() && !*self.overflowed {
            self.octets.extend_from_slice(octets);
        } else {
            *self.overflowed = true;
        }
    }

    /// Lets `say` append to the buffer; where it says more than [`Output::room`], that is as of [`Output::put`]. What
    /// is in the buffer already is not to be touched.
    pub fn append<T>(&mut self, say: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let before = self.octets.len();
        let said = say(self.octets);
        if self.octets.len() > self.most || *self.overflowed {
            self.octets.truncate(before);
            *self.overflowed = true;
        }
        said
    }

    /// As [`Output::put`], formatted.
    pub fn print(&mut self, text: core::fmt::Arguments<'_>) {
        // A failure is kept in `overflowed`.
        let _ = core::fmt::Write::write_fmt(self, text);
    }

    /// Octets said in this turn that are not on their way yet.
    pub fn len(&self) -> usize {
        self.octets.len()
    }

    /// Whether nothing was said since the last system call.
    pub fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// What was said and is not on its way yet, to be changed in place: a length or a count that is known late.
    pub fn said(&mut self) -> &mut [u8] {
        self.octets
    }

    /// Takes back what was said after the first `len` octets of [`Output::said`].
    pub fn truncate(&mut self, len: usize) {
        self.octets.truncate(len);
    }
}

impl core::fmt::Write for Output<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.put(text.as_bytes());
        if *self.overflowed { Err(core::fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_not_said_in_part() {
        let (mut octets, mut overflowed) = (Vec::new(), false);
        let mut output = Output::new(&mut octets, 8, &mut overflowed);
        output.put(b"12345");
        assert_eq!((output.room(), output.len()), (3, 5));
        output.print(format_args!("{}", 678));
        assert_eq!(output.room(), 0);
        output.truncate(2);
        assert_eq!(output.append(|octets| (octets.extend_from_slice(b"34"), octets.len()).1), 4);
        output.append(|octets| octets.extend_from_slice(b"56789"));
        assert_eq!(output.said(), b"1234");
        output.put(b"x");
        assert_eq!(output.said(), b"1234");
        assert!(overflowed);
        let (mut octets, mut overflowed) = (Vec::new(), false);
        Output::new(&mut octets, 1, &mut overflowed).put(b"12");
        assert!(octets.is_empty() && overflowed);
    }
}
