//! As much of BER (X.690) as an agent needs, by this crate alone.

/// Types of values (RFC 2578 section 7.1, RFC 3416 section 3).
pub mod tag {
    pub const INTEGER: u8 = 0x02;
    pub const OCTET_STRING: u8 = 0x04;
    pub const OBJECT_IDENTIFIER: u8 = 0x06;
    pub const SEQUENCE: u8 = 0x30;
    pub const IP_ADDRESS: u8 = 0x40;
    pub const COUNTER32: u8 = 0x41;
    pub const GAUGE32: u8 = 0x42;
    pub const TIME_TICKS: u8 = 0x43;
    pub const COUNTER64: u8 = 0x46;
    pub const NO_SUCH_OBJECT: u8 = 0x80;
    pub const NO_SUCH_INSTANCE: u8 = 0x81;
    pub const END_OF_MIB_VIEW: u8 = 0x82;
}

/// Takes an element off the front: its type and its contents.
pub fn take<'a>(octets: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&[tag, first], mut rest) = octets.split_first_chunk()?;
    let mut length = usize::from(first);
    if first & 0x80 != 0 {
        let count = usize::from(first & 0x7f);
        let digits = rest.get(..count).filter(|_| (1..=4).contains(&count))?;
        length = digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit));
        rest = &rest[count..];
    }
    let contents = rest.get(..length)?;
    *octets = &rest[length..];
    Some((tag, contents))
}

/// Takes an element of this type.
pub fn take_of<'a>(octets: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    take(octets).filter(|(own, _)| *own == tag).map(|(_, contents)| contents)
}

/// Takes a whole number.
pub fn take_integer(octets: &mut &[u8]) -> Option<i64> {
    let contents = take_of(octets, tag::INTEGER).filter(|contents| (1..=8).contains(&contents.len()))?;
    let sign = if contents[0] & 0x80 == 0 { 0 } else { -1 };
    Some(contents.iter().fold(sign, |number, octet| number << 8 | i64::from(*octet)))
}

/// The arcs of a name.
pub fn arcs(contents: &[u8], arcs: &mut Vec<u32>) -> Option<()> {
    arcs.clear();
    let mut arc = 0_u64;
    for octet in contents {
        arc = arc << 7 | u64::from(octet & 0x7f);
        if arc > u64::from(u32::MAX) + 80 {
            return None;
        }
        if octet & 0x80 == 0 {
            if arcs.is_empty() {
                let first = (arc / 40).min(2);
                arcs.push(first as u32);
                arc -= first * 40;
            }
            arcs.push(u32::try_from(arc).ok()?);
            arc = 0;
        }
    }
    (!contents.is_empty() && contents.last()? & 0x80 == 0).then_some(())
}

/// Appends an element.
pub fn put(out: &mut Vec<u8>, tag: u8, contents: &[u8]) {
    put_head(out, tag, contents.len());
    out.extend_from_slice(contents);
}

fn put_head(out: &mut Vec<u8>, tag: u8, length: usize) {
    out.push(tag);
    match length {
        0..0x80 => out.push(length as u8),
        0x80..0x100 => out.extend([0x81, length as u8]),
        _ => out.extend([0x82, (length >> 8) as u8, length as u8]),
    }
}

/// Puts the head before what was appended since `from`.
pub fn wrap(out: &mut Vec<u8>, from: usize, tag: u8) {
    let mut head = Vec::with_capacity(4);
    put_head(&mut head, tag, out.len() - from);
    out.splice(from..from, head);
}

/// Appends a number in as few octets as it needs, with a sign.
pub fn put_integer(out: &mut Vec<u8>, tag: u8, number: i64) {
    let octets = number.to_be_bytes();
    let spare = |at: usize| {
        let sign = if octets[at + 1] & 0x80 == 0 { 0 } else { 0xff };
        octets[at] == sign
    };
    let from = (0..7).take_while(|at| spare(*at)).count();
    put(out, tag, &octets[from..]);
}

/// Appends a number without a sign.
pub fn put_unsigned(out: &mut Vec<u8>, tag: u8, number: u64) {
    let mut octets = [0; 9];
    octets[1..].copy_from_slice(&number.to_be_bytes());
    let from = (0..8).take_while(|at| octets[*at] == 0 && octets[at + 1] & 0x80 == 0).count();
    put(out, tag, &octets[from..]);
}

/// Appends a name.
pub fn put_name(out: &mut Vec<u8>, arcs: &[u32]) {
    let from = out.len();
    let (first, rest) = arcs.split_at(arcs.len().min(2));
    if let [one, two] = first {
        put_arc(out, u64::from(*one) * 40 + u64::from(*two));
    }
    rest.iter().for_each(|arc| put_arc(out, u64::from(*arc)));
    wrap(out, from, tag::OBJECT_IDENTIFIER);
}

fn put_arc(out: &mut Vec<u8>, arc: u64) {
    let digits = (1..6).take_while(|digit| arc >> (7 * digit) != 0).count();
    (1..=digits).rev().for_each(|digit| out.push(0x80 | (arc >> (7 * digit)) as u8 & 0x7f));
    out.push(arc as u8 & 0x7f);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_as_x690_has_them() {
        let written = |put: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            put(&mut out);
            out
        };
        assert_eq!(written(&|out| put_integer(out, tag::INTEGER, -1)), [2, 1, 0xff]);
        assert_eq!(written(&|out| put_integer(out, tag::INTEGER, 128)), [2, 2, 0, 128]);
        assert_eq!(written(&|out| put_integer(out, tag::INTEGER, -129)), [2, 2, 0xff, 0x7f]);
        assert_eq!(written(&|out| put_unsigned(out, tag::COUNTER32, 0)), [0x41, 1, 0]);
        assert_eq!(written(&|out| put_unsigned(out, tag::COUNTER64, u64::MAX))[..4], [0x46, 9, 0, 0xff]);
        let name = [1, 3, 6, 1, 4, 1, 2680, 1, 2, 7, 3, 2, 0];
        let octets = [6, 13, 0x2b, 6, 1, 4, 1, 0x94, 0x78, 1, 2, 7, 3, 2, 0];
        assert_eq!(written(&|out| put_name(out, &name)), octets);
        let mut read = Vec::new();
        arcs(&octets[2..], &mut read).unwrap();
        assert_eq!(read, name);
    }
}
