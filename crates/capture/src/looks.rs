//! What a file that is no capture looks like, for the line that tells so.

/// What files of other kinds begin with.
const MAGICS: &[(&[u8], &str)] = &[
    (b"\x7fELF", "an ELF program"),
    (b"MZ", "a Windows program"),
    (b"PK\x03\x04", "a ZIP archive (or an office document): unpack it first"),
    (b"BZh", "bzip2: decompress it first"),
    (b"\xfd7zXZ\0", "xz: decompress it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive: unpack it first"),
    (b"Rar!", "a RAR archive: unpack it first"),
    (b"\x1f\x9d", "compress(1) output: decompress it first"),
    (b"\x1f\x8b", "gzip inside"),
    (b"\x28\xb5\x2f\xfd", "zstd inside"),
    (b"\x04\x22\x4d\x18", "lz4 inside"),
    (b"snoop\0\0\0", "a snoop capture (convert it with editcap)"),
    (b"btsnoop\0", "a Bluetooth snoop capture"),
    (b"RTSS", "a Microsoft Network Monitor 1 capture (convert it with editcap)"),
    (b"GMBU", "a Microsoft Network Monitor 2 capture (convert it with editcap)"),
    (b"TRSNIFF data", "a Sniffer capture (convert it with editcap)"),
    (b"XCP\0", "a NetXRay capture (convert it with editcap)"),
    (b"#!rtpplay1.0", "an rtpdump file"),
    (b"\xa1\xb2\xc3\xcb", "a compiled packet filter of libpcap"),
    (b"\xcb\xc3\xb2\xa1", "a compiled packet filter of libpcap"),
    (b"RIFF", "a RIFF (WAV) file"),
    (b"OggS", "an Ogg file"),
    (b"ID3", "an MP3 file"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"<?xml", "XML text"),
    (b"<!DOCTYPE", "HTML text"),
    (b"<html", "HTML text"),
    (b"{", "JSON or other text"),
];

/// Names what `head`, the beginning of a file, looks like.
pub(crate) fn looks_like(head: &[u8]) -> &'static str {
    if let Some((_, name)) = MAGICS.iter().find(|(magic, _)| head.starts_with(magic)) {
        return name;
    }
    if head.get(257..262) == Some(b"ustar") {
        return "a tar archive: unpack it first";
    }
    if head.iter().all(|o| *o == 0) {
        return "nothing but zeros";
    }
    let head = &head[..head.len().min(512)];
    let is_text = |o: &u8| matches!(o, b'\t' | b'\n' | b'\r' | 0x20..=0x7e);
    match head.iter().filter(|o| is_text(o)).count() {
        n if n == head.len() => "text",
        n if n * 10 >= head.len() * 9 && core::str::from_utf8(head).is_ok() => "text",
        _ => "data of an unknown kind",
    }
}

#[cfg(test)]
mod tests {
    use super::looks_like;

    #[test]
    fn names_the_common_ones() {
        assert_eq!(looks_like(b"\x7fELF\x02\x01"), "an ELF program");
        assert_eq!(looks_like(b"hello\nworld"), "text");
        assert_eq!(looks_like(&[0; 100]), "nothing but zeros");
        assert_eq!(looks_like(&[0xfe; 100]), "data of an unknown kind");
    }
}
