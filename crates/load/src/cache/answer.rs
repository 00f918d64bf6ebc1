//! Answers of the text protocol and the meta commands (memcached's doc/protocol.txt), piece by piece.

/// Octets of the longest line that an answer may have.
const LINE_OCTETS_MAX: usize = 2048;
/// Octets of the longest value that is taken.
const VALUE_OCTETS_MAX: usize = 1 << 30;

/// A piece of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// `VALUE` or `VA`: the key's name, and what it holds.
    Value(&'a [u8], &'a [u8]),
    /// `END` or `MN`: all values were told.
    End,
    /// `EN`: the key has no value.
    Miss,
    /// `STORED` or `HD`.
    Stored,
    /// `NOT_STORED`, an error, or any other line: the whole of it.
    Refused(&'a [u8]),
}

/// What octets begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// A piece, and how many octets it has.
    Part(Part<'a>, usize),
    /// Less than a piece; it has at least this many octets.
    Less(usize),
    /// Nothing of these protocols.
    Broken,
}

/// Reads the first piece.
pub fn read(octets: &[u8]) -> Found<'_> {
    let window = &octets[..octets.len().min(LINE_OCTETS_MAX)];
    let Some(end) = window.iter().position(|octet| *octet == b'\n') else {
        return if window.len() == LINE_OCTETS_MAX { Found::Broken } else { Found::Less(octets.len() + 1) };
    };
    let Some(line) = octets[..end].strip_suffix(b"\r") else { return Found::Broken };
    let mut words = line.split(|octet| *octet == b' ');
    let part = match words.next().unwrap_or_default() {
        b"VALUE" => {
            let (key, _flags, length) = (words.next(), words.next(), words.next());
            return value(octets, end + 1, key, length);
        }
        b"VA" => {
            let length = words.next();
            let key = words.find_map(|word| word.strip_prefix(b"k"));
            return value(octets, end + 1, key, length);
        }
        b"END" | b"MN" => Part::End,
        b"EN" => Part::Miss,
        b"STORED" | b"HD" => Part::Stored,
        _ => Part::Refused(line),
    };
    Found::Part(part, end + 1)
}

fn value<'a>(octets: &'a [u8], start: usize, key: Option<&'a [u8]>, length: Option<&[u8]>) -> Found<'a> {
    let length = length.and_then(|word| std::str::from_utf8(word).ok()).and_then(|word| word.parse::<usize>().ok());
    let (Some(key), Some(length)) = (key, length.filter(|length| *length <= VALUE_OCTETS_MAX)) else {
        return Found::Broken;
    };
    let end = start + length;
    match octets.get(end..end + 2) {
        None => Found::Less(end + 2),
        Some(b"\r\n") => Found::Part(Part::Value(key, &octets[start..end]), end + 2),
        Some(_) => Found::Broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut octets: &[u8]) -> Vec<Part<'_>> {
        let mut parts = Vec::new();
        while let Found::Part(part, length) = read(octets) {
            parts.push(part);
            octets = &octets[length..];
        }
        assert!(octets.is_empty(), "{octets:?} is left");
        parts
    }

    #[test]
    fn text_and_meta_answers() {
        let text = b"VALUE a 0 5\r\nx\r\nyz\r\nVALUE b 7 0 12\r\n\r\nEND\r\nSTORED\r\nSERVER_ERROR out of memory\r\n";
        let refused = Part::Refused(b"SERVER_ERROR out of memory");
        let values = [Part::Value(b"a", b"x\r\nyz"), Part::Value(b"b", b"")];
        assert_eq!(all(text), [&values[..], &[Part::End, Part::Stored, refused]].concat());
        let meta = b"VA 2 ka\r\nhi\r\nEN\r\nHD\r\nVA 1 t0 kb f1\r\nx\r\nMN\r\n";
        let wanted = [Part::Value(b"a", b"hi"), Part::Miss, Part::Stored, Part::Value(b"b", b"x"), Part::End];
        assert_eq!(all(meta), wanted);
    }

    #[test]
    fn a_part_of_a_piece_is_less() {
        let whole = b"VALUE a 0 5\r\nhello\r\n";
        for cut in 0..whole.len() {
            let Found::Less(needed) = read(&whole[..cut]) else { panic!("{cut} octets are taken") };
            assert!(needed > cut && needed <= whole.len());
        }
    }

    #[test]
    fn what_is_no_answer_is_broken() {
        let long = vec![b'x'; LINE_OCTETS_MAX];
        let broken: [&[u8]; 7] = [
            b"VALUE a 0 x\r\n",
            b"VALUE a\r\n",
            b"VALUE a 0 99999999999999999999\r\n",
            b"VALUE a 0 1\r\nxyz",
            b"VA 1\r\nx\r\n",
            b"END\n",
            &long,
        ];
        broken.into_iter().for_each(|octets| assert_eq!(read(octets), Found::Broken, "{octets:?}"));
    }
}
