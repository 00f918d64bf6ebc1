//! The binary protocol: a header of 24 octets, extras, key and value (protocol-binary.xml of memcached; deprecated, and
//! still what many clients speak).

/// First octet of a request.
pub const REQUEST: u8 = 0x80;
/// First octet of an answer.
pub const RESPONSE: u8 = 0x81;
/// Octets of a header.
pub const HEADER_OCTETS: usize = 24;
/// Octets of extras that are looked at (`BIN_MAX_EXTLEN`).
pub const EXTRAS_OCTETS_MAX: usize = 20;
/// `incr` and `decr` with this expiry make nothing where there was nothing.
pub const NO_INITIAL: u32 = u32::MAX;

/// What a request asks for; the quiet ones are the same with [`Header::quiet`] set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// The value.
    Get,
    /// The value with its key.
    GetKey,
    /// Store.
    Set,
    /// Store if there is nothing.
    Add,
    /// Store if there is something.
    Replace,
    /// Remove.
    Delete,
    /// Count up.
    Increment,
    /// Count down.
    Decrement,
    /// Close.
    Quit,
    /// Forget all, now or then.
    Flush,
    /// Answer, and nothing else.
    Noop,
    /// The version.
    Version,
    /// Store behind what is there.
    Append,
    /// Store before what is there.
    Prepend,
    /// Statistics.
    Stat,
    /// A new time to live.
    Touch,
    /// A new time to live, and the value.
    GetAndTouch,
    /// The same with its key.
    GetKeyAndTouch,
    /// SASL: which mechanisms there are.
    SaslList,
    /// SASL: begin and go on.
    SaslAuth,
    /// None of these.
    Unknown,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Status {
    /// Done.
    Done = 0x00,
    /// There is nothing under the key.
    NotFound = 0x01,
    /// There is something, or something else.
    Exists = 0x02,
    /// The value is too large.
    TooLarge = 0x03,
    /// The request contradicts itself.
    Invalid = 0x04,
    /// The condition was not met.
    NotStored = 0x05,
    /// What is there is not a number.
    NotNumeric = 0x06,
    /// Not signed in.
    AuthError = 0x20,
    /// No such opcode.
    UnknownCommand = 0x81,
    /// No memory.
    NoMemory = 0x82,
}

impl Status {
    /// What the body of an answer says.
    pub fn text(self) -> &'static [u8] {
        match self {
            Status::Done => b"",
            Status::NotFound => b"Not found",
            Status::Exists => b"Data exists for key.",
            Status::TooLarge => b"Too large.",
            Status::Invalid => b"Invalid arguments",
            Status::NotStored => b"Not stored.",
            Status::NotNumeric => b"Non-numeric server-side value for incr or decr",
            Status::AuthError => b"Auth failure.",
            Status::UnknownCommand => b"Unknown command",
            Status::NoMemory => b"Out of memory",
        }
    }
}

/// The header of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// As it came, told back.
    pub octet: u8,
    /// What it asks for.
    pub opcode: Opcode,
    /// Whether only what was not to be expected is answered.
    pub quiet: bool,
    /// Octets of the key.
    pub key_octets: u16,
    /// Octets of the extras.
    pub extras_octets: u8,
    /// Octets of extras, key and value together.
    pub body_octets: u32,
    /// Told back as it came.
    pub opaque: [u8; 4],
    /// The number to compare with, 0 for none.
    pub cas: u64,
}

impl Header {
    /// Reads the header that `octets` begin with; none where they are too few, or are no request.
    pub fn read(octets: &[u8]) -> Option<Header> {
        let head: &[u8; HEADER_OCTETS] = octets.first_chunk()?;
        let [magic, octet, k0, k1, extras_octets, _type, _v0, _v1, b0, b1, b2, b3, o0, o1, o2, o3, ..] = *head;
        let (opcode, quiet) = opcode(octet);
        (magic == REQUEST).then(|| Header {
            octet,
            opcode,
            quiet,
            key_octets: u16::from_be_bytes([k0, k1]),
            extras_octets,
            body_octets: u32::from_be_bytes([b0, b1, b2, b3]),
            opaque: [o0, o1, o2, o3],
            cas: u64::from_be_bytes(*head.last_chunk().unwrap_or(&[0; 8])),
        })
    }

    /// Octets of header, extras and key: what has to be there before the request is looked at.
    pub fn before_value(&self) -> usize {
        HEADER_OCTETS + usize::from(self.extras_octets) + usize::from(self.key_octets)
    }

    /// Octets of the value; none where key and extras are longer than the body.
    pub fn value_octets(&self) -> Option<u32> {
        let before = u32::from(self.extras_octets) + u32::from(self.key_octets);
        self.body_octets.checked_sub(before)
    }

    /// Whether the lengths are what the opcode wants.
    pub fn is_shaped(&self) -> bool {
        let (key, extras, value) = (self.key_octets, self.extras_octets, self.value_octets());
        let no_value = value == Some(0);
        match self.opcode {
            Opcode::Version | Opcode::Noop | Opcode::Quit | Opcode::SaslList => self.body_octets == 0,
            Opcode::Flush => key == 0 && no_value && (extras == 0 || extras == 4),
            Opcode::Set | Opcode::Add | Opcode::Replace => key > 0 && extras == 8,
            Opcode::Get | Opcode::GetKey | Opcode::Delete => key > 0 && extras == 0 && no_value,
            Opcode::Increment | Opcode::Decrement => key > 0 && extras == 20 && no_value,
            Opcode::Append | Opcode::Prepend | Opcode::SaslAuth => key > 0 && extras == 0,
            Opcode::Stat => extras == 0,
            Opcode::Touch | Opcode::GetAndTouch | Opcode::GetKeyAndTouch => key > 0 && extras == 4,
            Opcode::Unknown => true,
        }
    }

    /// Appends the header of an answer to this request.
    #[inline]
    pub fn answer(&self, status: Status, lengths: Lengths, cas: u64, out: &mut Vec<u8>) {
        let mut head = [0; HEADER_OCTETS];
        (head[0], head[1], head[4]) = (RESPONSE, self.octet, lengths.extras);
        head[2..4].copy_from_slice(&lengths.key.to_be_bytes());
        head[6..8].copy_from_slice(&(status as u16).to_be_bytes());
        let body = u32::from(lengths.extras) + u32::from(lengths.key) + lengths.value;
        head[8..12].copy_from_slice(&body.to_be_bytes());
        head[12..16].copy_from_slice(&self.opaque);
        head[16..].copy_from_slice(&cas.to_be_bytes());
        out.extend_from_slice(&head);
    }
}

/// Octets of the parts of an answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lengths {
    /// Of the extras.
    pub extras: u8,
    /// Of the key.
    pub key: u16,
    /// Of the value.
    pub value: u32,
}

/// The opcode of an octet and whether it is the quiet one.
fn opcode(octet: u8) -> (Opcode, bool) {
    let quiet = matches!(octet, 0x09 | 0x0d | 0x11..=0x1a | 0x1e | 0x24);
    let opcode = match octet {
        0x00 | 0x09 => Opcode::Get,
        0x01 | 0x11 => Opcode::Set,
        0x02 | 0x12 => Opcode::Add,
        0x03 | 0x13 => Opcode::Replace,
        0x04 | 0x14 => Opcode::Delete,
        0x05 | 0x15 => Opcode::Increment,
        0x06 | 0x16 => Opcode::Decrement,
        0x07 | 0x17 => Opcode::Quit,
        0x08 | 0x18 => Opcode::Flush,
        0x0a => Opcode::Noop,
        0x0b => Opcode::Version,
        0x0c | 0x0d => Opcode::GetKey,
        0x0e | 0x19 => Opcode::Append,
        0x0f | 0x1a => Opcode::Prepend,
        0x10 => Opcode::Stat,
        0x1c => Opcode::Touch,
        0x1d | 0x1e => Opcode::GetAndTouch,
        0x20 => Opcode::SaslList,
        0x21 | 0x22 => Opcode::SaslAuth,
        0x23 | 0x24 => Opcode::GetKeyAndTouch,
        _ => return (Opcode::Unknown, false),
    };
    (opcode, quiet)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A get of `Hello`, the example of the protocol's document.
    const GET_HELLO: &[u8] = b"\x80\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x05\xde\xad\xbe\xef\
        \x00\x00\x00\x00\x00\x00\x00\x07Hello";

    #[test]
    fn a_request() {
        let header = Header::read(GET_HELLO).unwrap();
        assert_eq!((header.opcode, header.quiet, header.key_octets), (Opcode::Get, false, 5));
        assert_eq!((header.opaque, header.cas), ([0xde, 0xad, 0xbe, 0xef], 7));
        assert_eq!((header.before_value(), header.value_octets()), (29, Some(0)));
        assert!(header.is_shaped());
        assert_eq!(Header::read(&GET_HELLO[..23]), None);
        assert_eq!(Header::read(&[0x81; 24]), None);
    }

    #[test]
    fn an_answer() {
        let header = Header::read(GET_HELLO).unwrap();
        let mut out = Vec::new();
        header.answer(Status::NotFound, Lengths { value: 9, ..Lengths::default() }, 0, &mut out);
        let expected = b"\x81\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x09\xde\xad\xbe\xef\0\0\0\0\0\0\0\0";
        assert_eq!(out, expected);
    }

    #[test]
    fn quiet_opcodes_are_those_of_the_list() {
        let quiet = (0..=255).filter(|&octet| opcode(octet).1).count();
        assert_eq!(quiet, 14);
        assert_eq!(opcode(0x19), (Opcode::Append, true));
        assert_eq!(opcode(0x1b), (Opcode::Unknown, false));
    }

    #[test]
    fn lengths_that_contradict_each_other() {
        let mut octets = GET_HELLO.to_vec();
        octets[11] = 4;
        let header = Header::read(&octets).unwrap();
        assert_eq!(header.value_octets(), None);
        assert!(!header.is_shaped());
    }
}
