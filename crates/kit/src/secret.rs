//! Secrets in files of their own.

/// The password that a file has in its first line, whose end does not belong to it; none if that line is empty: it
/// would be nobody's.
pub fn first_line(octets: &[u8]) -> Option<&[u8]> {
    octets.split(|octet| matches!(octet, b'\n' | b'\r')).next().filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_alone_without_its_end() {
        for (text, line) in [
            ("secret", Some("secret")),
            ("secret\n", Some("secret")),
            (" s p \r\nother\n", Some(" s p ")),
            ("\nsecret", None),
            ("\r\n", None),
            ("", None),
        ] {
            assert_eq!(first_line(text.as_bytes()), line.map(str::as_bytes), "{text:?}");
        }
    }
}
