//! Sizes and numbers as memcached's command line has them.

use trunkline_cache::store::ITEM_OCTETS_TOP;

/// Names of `-B`.
pub const PROTOCOLS: [&str; 3] = ["auto", "ascii", "binary"];
/// Octets of the smallest `-I`.
const ITEM_OCTETS_LEAST: u64 = 1 << 10;

/// Octets: a number with k, m or g.
pub fn octets(text: &str) -> Result<u64, String> {
    scaled(text, 1)
}

/// MiB, or octets with k, m or g behind the number.
pub fn mebibytes(text: &str) -> Result<u64, String> {
    let octets = scaled(text, 1 << 20)?;
    if octets < 1 << 20 { Err("at least 1 (MiB)".to_owned()) } else { Ok(octets) }
}

/// Octets of the largest item.
pub fn item(text: &str) -> Result<u64, String> {
    let octets = scaled(text, 1)?;
    if (ITEM_OCTETS_LEAST..=ITEM_OCTETS_TOP).contains(&octets) { Ok(octets) } else { Err("1k to 1024m".to_owned()) }
}

/// Permissions in octal.
pub fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| "permissions in octal, such as 700".to_owned())
}

/// One character of ASCII.
pub fn octet(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [octet] if octet.is_ascii_graphic() => Ok(*octet),
        _ => Err("one character of ASCII that can be seen".to_owned()),
    }
}

fn scaled(text: &str, plain: u64) -> Result<u64, String> {
    let (number, scale) = match text.as_bytes().last().map(u8::to_ascii_lowercase) {
        Some(b'k') => (&text[..text.len() - 1], 1 << 10),
        Some(b'm') => (&text[..text.len() - 1], 1 << 20),
        Some(b'g') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, plain),
    };
    let octets = number.parse::<u64>().ok().and_then(|number| number.checked_mul(scale));
    octets.ok_or_else(|| "a number, with k, m or g behind it or without".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_memcached_writes_them() {
        assert_eq!((mebibytes("64"), mebibytes("2g"), mebibytes("512k").is_err()), (Ok(64 << 20), Ok(2 << 30), true));
        assert_eq!((item("1m"), item("1024"), item("1024M")), (Ok(1 << 20), Ok(1024), Ok(1 << 30)));
        assert!(item("1025m").is_err() && item("1023").is_err() && item("x").is_err() && item("").is_err());
        assert_eq!((mode("770"), mode("8").is_err(), mode("1777").is_err()), (Ok(0o770), true, true));
        assert_eq!((octet(":"), octet("ab").is_err(), octet("é").is_err()), (Ok(b':'), true, true));
        assert!(octets("99999999999999999999g").is_err() && octets("99999999999g").is_err());
    }
}
