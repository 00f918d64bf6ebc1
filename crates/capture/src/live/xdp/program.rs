//! The XDP program: stamps a packet and hands it to the socket of its queue; what has none goes on to the stack.
//!
//! Written as instructions (RFC 9669) and loaded by bpf(2). It writes the clock before the packet, into the metadata
//! that XDP has for such things, once more with a mark, so that a stamp is told from what happens to lie there.
#![expect(unsafe_code, reason = "calls bpf(2)")]

use core::ffi::{c_int, c_long};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Octets of a stamp before a packet: the clock, and the clock combined with the mark.
pub(super) const STAMP_OCTETS: usize = 16;
/// The mark.
pub(super) const STAMP_MARK: u64 = 0x5452_554e_4b4c_4e45;

/// Commands and types of linux/bpf.h.
const MAP_CREATE: c_int = 0;
const MAP_UPDATE: c_int = 2;
const PROGRAM_LOAD: c_int = 5;
const LINK_CREATE: c_int = 28;
const MAP_OF_SOCKETS: u32 = 17;
const PROGRAM_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
/// Helpers.
const KTIME_GET_NS: i32 = 5;
const REDIRECT_MAP: i32 = 51;
const ADJUST_META: i32 = 54;
/// `XDP_PASS`: what `redirect_map` says where there is no socket.
const PASS: i32 = 2;
/// Where the program runs (`XDP_FLAGS_SKB_MODE`, `XDP_FLAGS_DRV_MODE` of linux/if_link.h).
pub(super) const IN_KERNEL: u32 = 1 << 1;
pub(super) const IN_DRIVER: u32 = 1 << 2;

/// `struct bpf_insn`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Insn {
    code: u8,
    /// Target in the low four bits, source in the high.
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// `union bpf_attr`, as much of it as is used here; what is not used is zero.
#[repr(C, align(8))]
struct Attributes([u64; 16]);

impl Attributes {
    fn new() -> Self {
        Attributes([0; 16])
    }

    /// Sets two neighbouring words of 32 bits.
    fn pair(mut self, at: usize, first: u32, second: u32) -> Self {
        let [a, b, c, d] = first.to_ne_bytes();
        let [e, f, g, h] = second.to_ne_bytes();
        self.0[at] = u64::from_ne_bytes([a, b, c, d, e, f, g, h]);
        self
    }

    fn whole(mut self, at: usize, value: u64) -> Self {
        self.0[at] = value;
        self
    }
}

/// A map from queue numbers to sockets.
pub(super) fn map(queues: u32) -> io::Result<OwnedFd> {
    let attributes = Attributes::new().pair(0, MAP_OF_SOCKETS, 4).pair(1, 4, queues);
    // SAFETY: a map's attributes hold no pointer.
    unsafe { descriptor(MAP_CREATE, &attributes) }
}

/// Puts the socket of a queue into the map.
pub(super) fn put(map: BorrowedFd<'_>, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
    let value = socket.as_raw_fd();
    let attributes = Attributes::new()
        .pair(0, map.as_raw_fd() as u32, 0)
        .whole(1, (&raw const queue) as u64)
        .whole(2, (&raw const value) as u64);
    // SAFETY: key and value have the four octets each that the map has, and live through the call.
    unsafe { call(MAP_UPDATE, &attributes) }.map(drop)
}

/// Loads the program.
pub(super) fn load(map: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let code = instructions(map.as_raw_fd());
    // The clock's helper asks for a licence of this kind, and MIT is one of the two that this program has.
    let licence = c"Dual MIT/GPL";
    let attributes = Attributes::new()
        .pair(0, PROGRAM_XDP, code.len() as u32)
        .whole(1, code.as_ptr() as u64)
        .whole(2, licence.as_ptr() as u64);
    // SAFETY: the instructions are so many, the licence ends with a zero, and both live through the call.
    unsafe { descriptor(PROGRAM_LOAD, &attributes) }
}

/// Attaches the program to an interface, in the driver or in the kernel, until the link is closed.
pub(super) fn attach(program: BorrowedFd<'_>, interface: u32, mode: u32) -> io::Result<OwnedFd> {
    let attributes = Attributes::new().pair(0, program.as_raw_fd() as u32, interface).pair(1, ATTACH_XDP, mode);
    // SAFETY: a link's attributes hold no pointer.
    unsafe { descriptor(LINK_CREATE, &attributes) }
}

/// # Safety
/// Pointers in the attributes are what the command expects, and live through the call.
unsafe fn call(command: c_int, attributes: &Attributes) -> io::Result<c_long> {
    let octets = size_of::<Attributes>();
    // SAFETY: so many octets of attributes; the rest is the caller's word.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, core::ptr::from_ref(attributes), octets) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// # Safety
/// As [`call`], and the command gives a new descriptor.
unsafe fn descriptor(command: c_int, attributes: &Attributes) -> io::Result<OwnedFd> {
    // SAFETY: the caller's word.
    let result = unsafe { call(command, attributes) }?;
    let fd = c_int::try_from(result).map_err(|_| io::ErrorKind::InvalidData)?;
    // SAFETY: it was just opened, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The program. Register 1 is the context (`struct xdp_md`) at first, 0 what a helper gave.
fn instructions(map: c_int) -> Vec<Insn> {
    let op = |code, registers, offset, immediate| Insn { code, registers, offset, immediate };
    let mark = STAMP_MARK;
    vec![
        op(0xbf, 0x16, 0, 0),                      // r6 = r1
        op(0xb7, 0x02, 0, -(STAMP_OCTETS as i32)), // r2 = -16
        op(0x85, 0, 0, ADJUST_META),               // r0 = bpf_xdp_adjust_meta(r1, r2)
        op(0x55, 0x00, 11, 0),                     // if r0 != 0: no room for a stamp
        op(0x85, 0, 0, KTIME_GET_NS),              // r0 = bpf_ktime_get_ns()
        op(0x61, 0x62, 0, 0),                      // r2 = data
        op(0x61, 0x61, 8, 0),                      // r1 = data_meta
        op(0xbf, 0x13, 0, 0),                      // r3 = r1
        op(0x07, 0x03, 0, STAMP_OCTETS as i32),    // r3 += 16
        op(0x2d, 0x23, 5, 0),                      // if r3 > r2: the verifier wants it said
        op(0x7b, 0x01, 0, 0),                      // *(u64 *)(r1) = r0
        op(0x18, 0x04, 0, mark as u32 as i32),     // r4 = the mark
        op(0, 0, 0, (mark >> 32) as u32 as i32),   //
        op(0xaf, 0x40, 0, 0),                      // r0 ^= r4
        op(0x7b, 0x01, 8, 0),                      // *(u64 *)(r1 + 8) = r0
        op(0x61, 0x62, 16, 0),                     // r2 = rx_queue_index
        op(0x18, 0x11, 0, map),                    // r1 = the map
        op(0, 0, 0, 0),                            //
        op(0xb7, 0x03, 0, PASS),                   // r3 = XDP_PASS
        op(0x85, 0, 0, REDIRECT_MAP),              // r0 = bpf_redirect_map(r1, r2, r3)
        op(0x95, 0, 0, 0),                         // return r0
    ]
}
