//! Options of pcapng blocks: a code, a length, a value padded to four octets (draft section 3.5).

use crate::pcap::ByteOrder;

/// `opt_comment`.
pub const COMMENT: u16 = 1;
/// `if_name`.
pub const IF_NAME: u16 = 2;
/// `if_tsresol`.
pub const IF_TSRESOL: u16 = 9;
/// `if_tsoffset`.
pub const IF_TSOFFSET: u16 = 14;
/// `shb_userappl`.
pub const SHB_USERAPPL: u16 = 4;
/// `epb_dropcount`.
pub const EPB_DROPCOUNT: u16 = 4;
/// `isb_starttime`.
pub const ISB_STARTTIME: u16 = 2;
/// `isb_endtime`.
pub const ISB_ENDTIME: u16 = 3;
/// `isb_ifrecv`.
pub const ISB_IFRECV: u16 = 4;
/// `isb_ifdrop`.
pub const ISB_IFDROP: u16 = 5;
/// `isb_osdrop`.
pub const ISB_OSDROP: u16 = 7;

/// One option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opt<'a> {
    /// What it is; the meaning depends on the block.
    pub code: u16,
    /// Its value, without padding.
    pub value: &'a [u8],
}

/// The options at a block's end, up to `opt_endofopt` or the first one that does not fit.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    order: ByteOrder,
    left: &'a [u8],
}

impl<'a> Options<'a> {
    /// Of the octets behind a block's fixed part.
    pub fn new(order: ByteOrder, octets: &'a [u8]) -> Self {
        Options { order, left: octets }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = Opt<'a>;

    fn next(&mut self) -> Option<Opt<'a>> {
        let (head, rest) = self.left.split_first_chunk::<4>()?;
        let code = self.order.u16([head[0], head[1]]);
        let octets = usize::from(self.order.u16([head[2], head[3]]));
        if code == 0 {
            return None;
        }
        let value = rest.get(..octets)?;
        self.left = rest.get(octets.next_multiple_of(4)..).unwrap_or_default();
        Some(Opt { code, value })
    }
}

impl Opt<'_> {
    /// The value as a 64-bit number, if it has eight octets.
    pub fn u64(&self, order: ByteOrder) -> Option<u64> {
        self.value.try_into().ok().map(|o| order.u64(o))
    }

    /// The value as the two halves of a time, the high one first whatever the byte order (draft section 4.6).
    pub fn halves(&self, order: ByteOrder) -> Option<(u32, u32)> {
        let o: [u8; 8] = self.value.try_into().ok()?;
        Some((order.u32([o[0], o[1], o[2], o[3]]), order.u32([o[4], o[5], o[6], o[7]])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_to_the_end_mark_and_past_padding() {
        let octets = b"\x02\0\x03\0abc\0\x09\0\x01\0\x06\0\0\0\0\0\0\0\x01\0\0\0";
        let found: Vec<_> = Options::new(ByteOrder::Little, octets).map(|o| (o.code, o.value.to_vec())).collect();
        assert_eq!(found, [(2, b"abc".to_vec()), (9, vec![6])]);
    }

    #[test]
    fn stops_at_one_that_does_not_fit() {
        assert_eq!(Options::new(ByteOrder::Big, b"\0\x02\0\x09abcd").count(), 0);
    }
}
