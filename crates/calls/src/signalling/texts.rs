//! Texts of messages.

/// A text as it was sent, with what is no UTF-8 replaced.
pub fn text(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len());
    push_lossy(&mut text, octets);
    text
}

/// Appends the same.
pub fn push_lossy(into: &mut String, octets: &[u8]) {
    match core::str::from_utf8(octets) {
        Ok(text) => into.push_str(text),
        Err(_) => into.push_str(&String::from_utf8_lossy(octets)),
    }
}
