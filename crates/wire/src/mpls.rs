//! MPLS label stacks (RFC 3032), pseudowires in them (RFC 4448), and MPLS in UDP (RFC 7510).
//!
//! ```text
//! | label (20) | class (3) | bottom (1) | time to live (8) |  ... | IP, or a pseudowire's control word and frame |
//! ```

use crate::walk::{Walk, malformed, understood};
use crate::{Decoded, Layer, ether, transport};

/// Labels of one stack; operators' stacks are below ten.
// Limit: labels of one MPLS stack
// Beyond: the packet counts as malformed at that layer
// Seen in: `trunkline_calls_malformed_shim_total`
pub const LABELS_MAX: usize = 24;

const BOTTOM: u32 = 0x100;

pub(crate) fn stack(walk: Walk, at: usize) -> Decoded {
    let Some(walk) = walk.deeper() else { return malformed(Layer::Shim) };
    match below(&walk, at) {
        Some(bottom) => payload(walk, bottom),
        None => malformed(Layer::Shim),
    }
}

/// In UDP the stack must lead to an IP packet that fills the datagram.
pub(crate) fn over_udp(walk: Walk, at: usize) -> Option<Decoded> {
    let bottom = below(&walk, at)?;
    transport::fits(&walk, bottom, true).then(|| transport::by_version(walk, bottom))
}

/// Where the stack ends.
fn below(walk: &Walk, at: usize) -> Option<usize> {
    for n in 0..LABELS_MAX {
        if walk.u32(at + n * 4)? & BOTTOM != 0 {
            return Some(at + n * 4 + 4);
        }
    }
    None
}

/// Nothing says what a label carries (RFC 4928 section 3): IP if a packet of that version fits; then Ethernet behind a
/// control word, whose first four bits are 0; then Ethernet alone.
fn payload(walk: Walk, at: usize) -> Decoded {
    let Some(first) = walk.u8(at) else { return malformed(Layer::Shim) };
    if transport::fits(&walk, at, false) {
        return transport::by_version(walk, at);
    }
    match first >> 4 {
        0 if ether::is_likely(&walk, at) && !ether::is_likely(&walk, at + 4) => ether::frame(walk, at),
        0 => ether::frame(walk, at + 4),
        // RFC 5586: the associated channel.
        1 => Decoded::Other,
        _ => understood(ether::frame(walk, at)).unwrap_or_else(|| transport::by_version(walk, at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    const IP: [u8; 30] = [
        0x45, 0, 0, 30, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0xc4, 0x13, 0xce, 0, 10, 0, 0, b'h',
        b'i',
    ];

    fn labelled(stack: &[u8], between: &[u8]) -> Decoded {
        decode(1, &[&[2; 12][..], &[0x88, 0x47], stack, between, &IP].concat())
    }

    #[test]
    fn ip_and_pseudowires() {
        let ethernet = [0, 0x11, 0x22, 0x33, 0x44, 0x55, 0, 0x66, 0x77, 0x88, 0x99, 0xaa, 8, 0];
        let with_control_word = [&[0, 0, 0, 5][..], &ethernet].concat();
        for between in [&[][..], &ethernet, &with_control_word] {
            let decoded = labelled(&[0, 1, 0x00, 64, 0, 2, 0x01, 64], between);
            assert!(matches!(decoded, Decoded::Udp(d) if d.payload_captured == 2), "{between:x?} {decoded:?}");
        }
    }

    #[test]
    fn a_stack_without_bottom() {
        assert_eq!(labelled(&[0, 1, 0, 64].repeat(LABELS_MAX), &[]), malformed(Layer::Shim));
        assert_eq!(decode(219, &[0, 1, 0, 64, 0, 1]), malformed(Layer::Shim));
        assert_eq!(labelled(&[0, 1, 1, 64], &[0x10, 0, 0, 0]), Decoded::Other);
    }
}
