//! How asks and answers go over a stream: each side begins with a hello that says the version of the contract, then
//! asks and answers take turns, each a length (four octets, the highest first) and so many octets of MessagePack.
//!
//! ```text
//!   "trunkln" 01 VERSION (8)  ->  <-  "trunkln" 01 VERSION (8)
//!   LENGTH (4) ASK            ->  <-  LENGTH (4) ANSWER
//! ```

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, Read, Write};

/// Octets of an ask.
// Limit: size of one question to a job
// Beyond: the question is refused
// Seen in: the error message
pub const ASK_OCTETS_MAX: usize = 4 << 20;
/// Octets of an answer.
// Limit: size of one answer of a job
// Beyond: the answer is not sent
// Seen in: the error message
pub const ANSWER_OCTETS_MAX: usize = 64 << 20;
/// Values within values.
const DEPTH_MAX: usize = 64;
const MAGIC: [u8; 8] = *b"trunkln\x01";

/// What is wrong with an exchange.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The stream fails, or ends in the middle.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The other side is of another version, or speaks something else.
    #[error("the other side is of another version")]
    OtherVersion,
    /// A frame is longer than it may be.
    #[error("{octets} octets, {most} can be")]
    TooLong {
        /// Its octets.
        octets: usize,
        /// How many there may be.
        most: usize,
    },
    /// The octets of a frame are none of what is expected.
    #[error("not understood: {0}")]
    Unreadable(String),
}

/// Says of which version this side is.
///
/// # Errors
/// The stream's.
pub fn greet(to: &mut impl Write, version: u64) -> io::Result<()> {
    let mut hello = [0; 16];
    hello[..8].copy_from_slice(&MAGIC);
    hello[8..].copy_from_slice(&version.to_be_bytes());
    to.write_all(&hello)
}

/// Reads what the other side says first.
///
/// # Errors
/// It is of another version; the stream's.
pub fn met(from: &mut impl Read, version: u64) -> Result<(), Fault> {
    let (mut magic, mut theirs) = ([0; 8], [0; 8]);
    from.read_exact(&mut magic)?;
    if magic != MAGIC {
        return Err(Fault::OtherVersion);
    }
    from.read_exact(&mut theirs)?;
    if u64::from_be_bytes(theirs) != version {
        return Err(Fault::OtherVersion);
    }
    Ok(())
}

/// The octets of a value, without their length. Members go by name: an answer is read whatever their order.
///
/// # Errors
/// The value cannot be written: a defect of its type.
pub fn encode(value: &impl Serialize) -> Result<Vec<u8>, Fault> {
    rmp_serde::to_vec_named(value).map_err(|error| Fault::Unreadable(error.to_string()))
}

/// The value that octets are, all of them.
///
/// # Errors
/// [`Fault::Unreadable`].
pub fn decode<T: DeserializeOwned>(mut octets: &[u8]) -> Result<T, Fault> {
    let mut reads = rmp_serde::Deserializer::new(&mut octets);
    reads.set_max_depth(DEPTH_MAX);
    let value = T::deserialize(&mut reads).map_err(|error| Fault::Unreadable(error.to_string()))?;
    match octets.is_empty() {
        true => Ok(value),
        false => Err(Fault::Unreadable(format!("{} octets too many", octets.len()))),
    }
}

/// Sends a value.
///
/// # Errors
/// It is too long; nothing was sent then. The stream's.
pub fn send(to: &mut impl Write, value: &impl Serialize, most: usize) -> Result<(), Fault> {
    let octets = encode(value)?;
    let length = u32::try_from(octets.len()).ok().filter(|_| octets.len() <= most);
    let length = length.ok_or(Fault::TooLong { octets: octets.len(), most })?;
    to.write_all(&length.to_be_bytes())?;
    Ok(to.write_all(&octets)?)
}

/// Receives the octets of a value; none if the other side has ended before their length begins.
///
/// # Errors
/// It is too long; nothing of it was read then. The stream ends in the middle of it, or fails.
pub fn receive(from: &mut impl Read, most: usize) -> Result<Option<Vec<u8>>, Fault> {
    let mut length = [0; 4];
    let first = loop {
        match from.read(&mut length) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    if first == 0 {
        return Ok(None);
    }
    from.read_exact(length.get_mut(first..).unwrap_or_default())?;
    let octets = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if octets > most {
        return Err(Fault::TooLong { octets, most });
    }
    let mut value = Vec::new();
    if from.take(octets as u64).read_to_end(&mut value)? < octets {
        return Err(io::Error::from(ErrorKind::UnexpectedEof).into());
    }
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn framed(value: &Value) -> Vec<u8> {
        let mut octets = Vec::new();
        send(&mut octets, value, ASK_OCTETS_MAX).unwrap();
        octets
    }

    #[test]
    fn what_is_sent_is_received_and_the_end_is_told_from_a_cut() {
        let (first, second) = (json!({ "a": [1, -2, 1.5, null, "x"] }), json!("y"));
        let octets = [framed(&first), framed(&second)].concat();
        let mut reads = &octets[..];
        for sent in [&first, &second] {
            let received = receive(&mut reads, ASK_OCTETS_MAX).unwrap().unwrap();
            assert_eq!(&decode::<Value>(&received).unwrap(), sent);
        }
        assert!(receive(&mut reads, ASK_OCTETS_MAX).unwrap().is_none());
        let whole = framed(&first);
        for cut in 1..whole.len() {
            let fault = receive(&mut &whole[..cut], ASK_OCTETS_MAX).unwrap_err();
            assert!(matches!(fault, Fault::Io(error) if error.kind() == ErrorKind::UnexpectedEof), "{cut}");
        }
    }

    #[test]
    fn what_is_too_long_is_neither_sent_nor_read() {
        let mut octets = Vec::new();
        let fault = send(&mut octets, &"x".repeat(9), 8).unwrap_err();
        assert!(matches!(fault, Fault::TooLong { octets: 10, most: 8 }) && octets.is_empty());
        let mut reads = &[0, 0, 0, 9, 1, 2][..];
        assert!(matches!(receive(&mut reads, 8), Err(Fault::TooLong { octets: 9, most: 8 })));
        assert_eq!(reads, [1, 2]);
    }

    #[test]
    fn another_version_and_another_protocol_are_told() {
        let mut hello = Vec::new();
        greet(&mut hello, 7).unwrap();
        assert!(met(&mut &hello[..], 7).is_ok());
        assert!(matches!(met(&mut &hello[..], 8), Err(Fault::OtherVersion)));
        assert!(matches!(met(&mut &b"{\"error\":\"bad-request\"}\n"[..], 7), Err(Fault::OtherVersion)));
        assert!(matches!(met(&mut &hello[..15], 7), Err(Fault::Io(_))));
    }

    #[test]
    fn values_are_whole_and_not_too_deep() {
        let mut octets = encode(&json!([1])).unwrap();
        octets.push(0);
        assert!(matches!(decode::<Value>(&octets), Err(Fault::Unreadable(_))));
        let deep = [vec![0x91; 100], vec![0]].concat();
        assert!(matches!(decode::<Value>(&deep), Err(Fault::Unreadable(_))));
    }

    proptest! {
        #[test]
        fn no_octets_do_harm(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
            crate::exercise::frames(&octets);
        }
    }
}
