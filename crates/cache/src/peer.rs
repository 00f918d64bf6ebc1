//! Another cache, seen as a client sees it: which keys it has, and their values with flags and time to live. Of
//! memcached's protocol, as its 1.6.18 and this program speak it (protocol.txt, "LRU_Crawler" and "Meta Get").

use crate::protocol::{base64, number};
use crate::store::KEY_OCTETS_MAX;

/// Octets of a line, at most: a key of which each octet is written as three, and what stands around it.
pub const LINE_OCTETS_MAX: usize = 4096;
/// What asks for all keys, the second where the first is not known.
pub const DUMPS: [&[u8]; 2] = [b"lru_crawler metadump hash\r\n", b"lru_crawler metadump all\r\n"];

/// A line of the list of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// A key, and the octets that its item takes there.
    Key(Vec<u8>, u64),
    /// The end of the list.
    End,
    /// The list is made for somebody else just now.
    Busy,
    /// There is no list: what the other one says.
    Refused(String),
}

/// An answer to [`ask`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// It is not there any more.
    Miss,
    /// A value of so many octets follows.
    Value(Value),
}

/// What is known of a value before it comes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Value {
    /// Octets of the value.
    pub octets: u32,
    /// The client's flags.
    pub flags: u32,
    /// Seconds that are left to it; none is for ever.
    pub seconds: Option<u32>,
    /// Whether it is marked as stale.
    pub stale: bool,
    /// The key.
    pub key: Vec<u8>,
    /// Whether it is told in base64.
    pub binary_key: bool,
}

/// What came is not of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an answer that is not of memcached's protocol")]
pub struct Nonsense;

/// Reads a line of the list, without its end.
///
/// # Errors
/// It is none.
pub fn listed(line: &[u8]) -> Result<Listed, Nonsense> {
    let Some(rest) = line.strip_prefix(b"key=") else { return not_a_key(line) };
    let mut words = rest.split(|&octet| octet == b' ');
    let key = decoded(words.next().unwrap_or_default()).ok_or(Nonsense)?;
    let size = words.find_map(|word| word.strip_prefix(b"size=")).and_then(number::unsigned);
    Ok(Listed::Key(key, size.unwrap_or(0)))
}

fn not_a_key(line: &[u8]) -> Result<Listed, Nonsense> {
    if line == b"END" {
        return Ok(Listed::End);
    }
    if line.starts_with(b"BUSY") {
        return Ok(Listed::Busy);
    }
    let is_refused = [&b"ERROR"[..], b"CLIENT_ERROR", b"SERVER_ERROR", b"BADCLASS"].iter().any(|w| line.starts_with(w));
    if is_refused { Ok(Listed::Refused(String::from_utf8_lossy(line).into_owned())) } else { Err(Nonsense) }
}

/// A key out of its percent-encoding (RFC 3986, section 2.1).
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |octet: u8| char::from(octet).to_digit(16).map(|digit| digit as u8);
    let (mut key, mut octets) = (Vec::with_capacity(text.len()), text.iter().copied());
    while let Some(octet) = octets.next() {
        key.push(match octet {
            b'%' => digit(octets.next()?)? << 4 | digit(octets.next()?)?,
            other => other,
        });
    }
    (1..=KEY_OCTETS_MAX).contains(&key.len()).then_some(key)
}

/// Asks for a key: size, seconds left, flags, value and key, without making it younger there. Keys that a line cannot
/// have are asked for in base64. False, and nothing is asked, for one that is too long for that.
pub fn ask(key: &[u8], output: &mut Vec<u8>) -> bool {
    let is_plain = key.iter().all(|&octet| octet > b' ' && octet != 0x7f);
    if !is_plain && key.len() > base64::DECODED_OCTETS_MAX - 1 {
        return false;
    }
    output.extend_from_slice(b"mg ");
    if is_plain {
        output.extend_from_slice(key);
        output.extend_from_slice(b" s t f v k u\r\n");
    } else {
        base64::encode(key, output);
        output.extend_from_slice(b" s t f v k u b\r\n");
    }
    true
}

/// Reads the line that answers [`ask`], without its end.
///
/// # Errors
/// It is none.
pub fn told(line: &[u8]) -> Result<Told, Nonsense> {
    let mut words = line.split(|&octet| octet == b' ').filter(|word| !word.is_empty());
    match words.next() {
        Some(b"EN") => return Ok(Told::Miss),
        Some(b"VA") => {}
        _ => return Err(Nonsense),
    }
    let octets = words.next().and_then(number::unsigned_32).ok_or(Nonsense)?;
    let mut value = Value { octets, seconds: Some(0), ..Value::default() };
    for word in words {
        let rest = &word[1..];
        match word[0] {
            b'f' => value.flags = number::unsigned_32(rest).ok_or(Nonsense)?,
            b't' => value.seconds = seconds(rest)?,
            b'k' => value.key = rest.to_vec(),
            b'b' => value.binary_key = true,
            b'X' => value.stale = true,
            _ => {}
        }
    }
    if value.binary_key {
        let (key, octets) = base64::decode(&value.key).ok_or(Nonsense)?;
        value.key = key[..octets].to_vec();
    }
    Ok(Told::Value(value))
}

fn seconds(text: &[u8]) -> Result<Option<u32>, Nonsense> {
    if text == b"-1" {
        return Ok(None);
    }
    let seconds = number::unsigned_32(text).ok_or(Nonsense)?;
    // What is over already may come as a number below 0 that went round.
    Ok(Some(if seconds > i32::MAX as u32 { 0 } else { seconds }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_as_memcached_writes_them() {
        let line = b"key=a%20b exp=-1 la=1700000000 cas=2 fetch=no cls=1 size=63";
        assert_eq!(listed(line), Ok(Listed::Key(b"a b".to_vec(), 63)));
        assert_eq!(listed(b"key=%C3%A4 exp=1"), Ok(Listed::Key(vec![0xc3, 0xa4], 0)));
        assert_eq!(
            (listed(b"END"), listed(b"BUSY currently processing crawler request")),
            (Ok(Listed::End), Ok(Listed::Busy))
        );
        assert_eq!(listed(b"ERROR metadump not allowed"), Ok(Listed::Refused("ERROR metadump not allowed".into())));
        for wrong in [&b"key= exp=1"[..], b"key=%4 exp=1", b"key=%zz exp=1", b"HTTP/1.1 400", b""] {
            assert_eq!(listed(wrong), Err(Nonsense));
        }
        assert_eq!(listed(&[b"key=".as_slice(), &[b'x'; 251]].concat()), Err(Nonsense));
    }

    #[test]
    fn values_as_memcached_tells_them() {
        let mut asked = Vec::new();
        assert!(ask(b"plain", &mut asked) && ask(b"a b", &mut asked));
        assert!(!ask(&[b' '; 188], &mut asked));
        assert_eq!(asked, b"mg plain s t f v k u\r\nmg YSBi s t f v k u b\r\n");
        let value = Value { octets: 5, flags: 7, key: b"plain".to_vec(), ..Value::default() };
        assert_eq!(told(b"VA 5 s5 t-1 f7 kplain"), Ok(Told::Value(value.clone())));
        let stale = Value { stale: true, seconds: Some(30), key: b"a b".to_vec(), binary_key: true, ..value };
        assert_eq!(told(b"VA 5 s5 t30 f7 kYSBi b W X"), Ok(Told::Value(stale)));
        let Ok(Told::Value(over)) = told(b"VA 1 s1 t4294967290 f0 kx") else { panic!("a value") };
        assert_eq!((over.seconds, told(b"EN")), (Some(0), Ok(Told::Miss)));
        for wrong in [&b"VA"[..], b"VA x", b"VA 1 fx", b"VA 1 t-2", b"VA 1 k! b", b"HD", b""] {
            assert_eq!(told(wrong), Err(Nonsense), "{wrong:?}");
        }
    }
}
