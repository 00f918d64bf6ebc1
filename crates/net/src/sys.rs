//! Datagrams in batches: recvmmsg, sendmmsg and their control messages, behind safe functions.
#![expect(unsafe_code, reason = "calls the C library")]

use core::ffi::{c_int, c_void};
use core::mem::{MaybeUninit, size_of, zeroed};
use core::ptr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Octets for the control messages of a datagram: an address of ours and a segment size, each with its header.
const CONTROL_OCTETS: usize = 96;
/// Octets between the places of two datagrams beyond their length, so that their first octets do not all fall into the
/// same sets of the processor's cache.
const STAGGER_OCTETS: usize = 320;

/// Control messages, aligned as their headers want it.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL_OCTETS]);

/// Places for datagrams that are received together.
pub(crate) struct Receiver {
    octets: Vec<u8>,
    stride: usize,
    slots: usize,
    // Those below are pointed to by `headers`, are never resized, and are touched by the kernel in `receive` alone.
    addresses: Vec<libc::sockaddr_storage>,
    controls: Vec<Control>,
    _pieces: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    used: usize,
}

/// A datagram that was received.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Received<'a> {
    pub(crate) from: SocketAddr,
    /// The address of ours that it was sent to, if the socket tells.
    pub(crate) local: Option<IpAddr>,
    pub(crate) payload: &'a [u8],
    /// It was longer than there is room.
    pub(crate) truncated: bool,
}

impl Receiver {
    /// Room for so many datagrams of so many octets. Memory is taken by the system as it is first written to.
    pub(crate) fn new(slots: usize, octets: usize) -> Receiver {
        let stride = octets + STAGGER_OCTETS;
        let mut buffer = vec![0u8; stride * slots];
        // SAFETY: addresses of no family, headers that point nowhere: all zero is a value of each of these types.
        let (mut addresses, mut headers) =
            unsafe { (vec![zeroed::<libc::sockaddr_storage>(); slots], vec![zeroed::<libc::mmsghdr>(); slots]) };
        let mut controls = vec![Control([0; CONTROL_OCTETS]); slots];
        let places = buffer.chunks_exact_mut(stride);
        let mut pieces: Vec<libc::iovec> =
            places.map(|p| libc::iovec { iov_base: p.as_mut_ptr().cast(), iov_len: octets }).collect();
        for (at, header) in headers.iter_mut().enumerate() {
            header.msg_hdr.msg_name = ptr::from_mut(&mut addresses[at]).cast();
            header.msg_hdr.msg_iov = &mut pieces[at];
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = ptr::from_mut(&mut controls[at]).cast();
        }
        Receiver { octets: buffer, stride, slots, addresses, controls, _pieces: pieces, headers, used: slots }
    }

    /// Receives what is there, up to the number of places, without waiting.
    pub(crate) fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        for header in &mut self.headers[..self.used] {
            header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            header.msg_hdr.msg_controllen = CONTROL_OCTETS;
        }
        self.used = 0;
        let (headers, slots) = (self.headers.as_mut_ptr(), self.slots as libc::c_uint);
        // SAFETY: so many headers, whose pointers lead into buffers of this value with the lengths they say; nothing
        // refers to those now, as `self` is borrowed alone.
        let got =
            unsafe { libc::recvmmsg(socket.as_raw_fd(), headers, slots, libc::MSG_DONTWAIT as _, ptr::null_mut()) };
        self.used = check(got)?;
        Ok(self.used)
    }

    /// One of those last received; none for an address of another family.
    pub(crate) fn datagram(&self, at: usize) -> Option<Received<'_>> {
        let header = self.headers[..self.used].get(at)?;
        let from = address_of(&self.addresses[at])?;
        let control = &self.controls[at].0[..header.msg_hdr.msg_controllen.min(CONTROL_OCTETS)];
        let truncated = header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
        Some(Received { from, local: local_of(control), payload: self.payload(at), truncated })
    }

    /// The octets of one of those last received; none for another place.
    pub(crate) fn payload(&self, at: usize) -> &[u8] {
        let Some(header) = self.headers[..self.used].get(at) else { return &[] };
        let (start, room) = (at * self.stride, self.stride - STAGGER_OCTETS);
        &self.octets[start..start + (header.msg_len as usize).min(room)]
    }
}

/// A datagram to be sent, or several of equal length in one piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    pub(crate) to: SocketAddr,
    /// The address of ours that it comes from, if that is not left to the system.
    pub(crate) local: Option<IpAddr>,
    pub(crate) payload: &'a [u8],
    /// Octets of each datagram that the kernel is to make of the payload; 0 for one.
    pub(crate) segment: u16,
}

/// Headers for datagrams that are sent together.
pub(crate) struct Sender {
    addresses: Vec<libc::sockaddr_storage>,
    controls: Vec<Control>,
    pieces: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

// SAFETY: the pointers in `headers` lead into vectors of the same value, whose contents stay where they are when it is
// moved; nobody else knows them, and nothing of it can be reached by two threads at once.
unsafe impl Send for Receiver {}
// SAFETY: as for `Receiver`; where `headers` leads to payloads of others it is set anew before each use.
unsafe impl Send for Sender {}

impl Sender {
    /// Room for so many.
    pub(crate) fn new(slots: usize) -> Sender {
        // SAFETY: as in `Receiver::new`.
        let (addresses, headers, pieces) = unsafe {
            (
                vec![zeroed::<libc::sockaddr_storage>(); slots],
                vec![zeroed::<libc::mmsghdr>(); slots],
                vec![zeroed(); slots],
            )
        };
        Sender { addresses, controls: vec![Control([0; CONTROL_OCTETS]); slots], pieces, headers }
    }

    /// Sends the first of these messages, as many as there is room for, without waiting. How many went out; an error
    /// is that of the first.
    pub(crate) fn send<'a>(
        &mut self,
        socket: BorrowedFd<'_>,
        messages: impl Iterator<Item = Message<'a>>,
    ) -> io::Result<usize> {
        let mut count = 0;
        for message in messages.take(self.headers.len()) {
            self.set(count, &message);
            count += 1;
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: so many headers were set just now; payloads live for 'a, all else in this value; nothing is written
        // but `msg_len`.
        check(unsafe { libc::sendmmsg(socket.as_raw_fd(), self.headers.as_mut_ptr(), count as _, flags as _) })
    }

    fn set(&mut self, at: usize, message: &Message<'_>) {
        let name_octets = put_address(&mut self.addresses[at], &message.to);
        let control_octets = put_control(&mut self.controls[at], message);
        let (base, length) = (message.payload.as_ptr().cast_mut().cast::<c_void>(), message.payload.len());
        self.pieces[at] = libc::iovec { iov_base: base, iov_len: length };
        let header = &mut self.headers[at].msg_hdr;
        header.msg_name = ptr::from_mut(&mut self.addresses[at]).cast();
        header.msg_namelen = name_octets;
        header.msg_iov = &mut self.pieces[at];
        header.msg_iovlen = 1;
        header.msg_control =
            if control_octets == 0 { ptr::null_mut() } else { self.controls[at].0.as_mut_ptr().cast() };
        header.msg_controllen = control_octets;
    }
}

/// Makes a UDP socket tell which address of ours a datagram was sent to.
pub(crate) fn tell_local(socket: BorrowedFd<'_>, ipv6: bool) -> io::Result<()> {
    let (level, name) = match ipv6 {
        true => (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO),
        false => (libc::IPPROTO_IP, libc::IP_PKTINFO),
    };
    let on: c_int = 1;
    let octets = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: the value lives through the call and is so long.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, ptr::from_ref(&on).cast(), octets) }).map(drop)
}

/// Datagrams that the kernel dropped at this socket since it was opened: SK_MEMINFO_DROPS of SO_MEMINFO (socket(7),
/// linux/sock_diag.h).
pub(crate) fn dropped(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut info = [0u32; 9];
    let mut octets = size_of::<[u32; 9]>() as libc::socklen_t;
    let value = info.as_mut_ptr().cast();
    // SAFETY: there is room for so many octets.
    check(unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO, value, &mut octets) })?;
    Ok(info[8])
}

fn check(result: c_int) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

fn address_of(storage: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let place = ptr::from_ref(storage);
    match c_int::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the storage is large enough and aligned for every address, and its family says which it is.
            let v4 = unsafe { &*place.cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Some(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let v6 = unsafe { &*place.cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            Some(SocketAddrV6::new(ip, u16::from_be(v6.sin6_port), v6.sin6_flowinfo, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

fn put_address(storage: &mut libc::sockaddr_storage, address: &SocketAddr) -> libc::socklen_t {
    let place = ptr::from_mut(storage);
    match address {
        SocketAddr::V4(v4) => {
            let value = libc::sockaddr_in {
                sin_family: libc::AF_INET as _,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from(*v4.ip()).to_be() },
                sin_zero: [0; 8],
            };
            // SAFETY: the storage is large enough and aligned for every address.
            unsafe { place.cast::<libc::sockaddr_in>().write(value) };
            size_of::<libc::sockaddr_in>() as _
        }
        SocketAddr::V6(v6) => {
            let value = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as _,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: as above.
            unsafe { place.cast::<libc::sockaddr_in6>().write(value) };
            size_of::<libc::sockaddr_in6>() as _
        }
    }
}

/// Writes the control messages that a message needs; their octets.
fn put_control(control: &mut Control, message: &Message<'_>) -> usize {
    let mut at = 0;
    if message.segment > 0 {
        at = put(control, at, libc::SOL_UDP, libc::UDP_SEGMENT, &message.segment);
    }
    match message.local {
        Some(IpAddr::V4(ip)) => {
            let source = libc::in_addr { s_addr: u32::from(ip).to_be() };
            let info = libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: source, ipi_addr: libc::in_addr { s_addr: 0 } };
            put(control, at, libc::IPPROTO_IP, libc::IP_PKTINFO, &info)
        }
        Some(IpAddr::V6(ip)) => {
            let info = libc::in6_pktinfo { ipi6_addr: libc::in6_addr { s6_addr: ip.octets() }, ipi6_ifindex: 0 };
            put(control, at, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &info)
        }
        None => at,
    }
}

/// Writes a control message (cmsg(3)) at an offset that is a multiple of eight; the offset behind it. The values are
/// those above: whole numbers, at most 20 octets.
fn put<T: Copy>(control: &mut Control, at: usize, level: c_int, kind: c_int, value: &T) -> usize {
    let octets = size_of::<T>() as u32;
    // SAFETY: these compute from a number.
    let (whole, length) = unsafe { (libc::CMSG_SPACE(octets) as usize, libc::CMSG_LEN(octets) as usize) };
    let place = &mut control.0[at..at + whole];
    place.fill(0);
    let header = place.as_mut_ptr().cast::<libc::cmsghdr>();
    // SAFETY: the place has room for header and value, which the slice just made sure of, and begins at a multiple of
    // eight, as the header wants; the value follows where CMSG_DATA says, of any alignment.
    unsafe {
        (*header).cmsg_len = length as _;
        (*header).cmsg_level = level;
        (*header).cmsg_type = kind;
        libc::CMSG_DATA(header).cast::<T>().write_unaligned(*value);
    }
    at + whole
}

/// The address of ours among control messages that the kernel wrote.
fn local_of(control: &[u8]) -> Option<IpAddr> {
    const HEADER: usize = size_of::<libc::cmsghdr>();
    let mut rest = control;
    while rest.len() >= HEADER {
        let mut header = MaybeUninit::<libc::cmsghdr>::uninit();
        // SAFETY: there are so many octets, and any of them are a header: whole numbers.
        let header = unsafe {
            ptr::copy_nonoverlapping(rest.as_ptr(), header.as_mut_ptr().cast(), HEADER);
            header.assume_init()
        };
        let length = header.cmsg_len as usize;
        let value = rest.get(HEADER..length)?;
        match (header.cmsg_level, header.cmsg_type) {
            // ip(7): index of the interface, then our address of it, then the destination of the header.
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                return value.get(4..8).and_then(|o| <[u8; 4]>::try_from(o).ok()).map(|o| Ipv4Addr::from(o).into());
            }
            // RFC 3542, 6.1: the address, then the index of the interface.
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                return value.get(..16).and_then(|o| <[u8; 16]>::try_from(o).ok()).map(|o| Ipv6Addr::from(o).into());
            }
            _ => rest = rest.get(length.next_multiple_of(size_of::<usize>())..)?,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd as _;

    fn message<'a>(to: SocketAddr, payload: &'a [u8], segment: u16) -> Message<'a> {
        Message { to, local: None, payload, segment }
    }

    #[test]
    fn addresses_survive_both_ways() {
        // SAFETY: all zero is an address of no family.
        let mut storage = unsafe { zeroed() };
        assert_eq!(address_of(&storage), None);
        for text in ["192.0.2.7:65535", "[2001:db8::7]:1", "[fe80::1%3]:11211"] {
            let address: SocketAddr = text.parse().expect("address");
            put_address(&mut storage, &address);
            assert_eq!(address_of(&storage), Some(address));
        }
    }

    #[test]
    fn a_batch_goes_out_and_comes_in() {
        let ours = UdpSocket::bind("0.0.0.0:0").expect("socket");
        tell_local(ours.as_fd(), false).expect("IP_PKTINFO");
        let to: SocketAddr = format!("127.0.0.2:{}", ours.local_addr().expect("address").port()).parse().expect("it");
        let peer = UdpSocket::bind("127.0.0.1:0").expect("socket");
        let parts =
            [message(to, b"one", 0), message(to, b"aabbc", 2), message(to, b"", 0), message(to, b"too long", 0)];
        assert_eq!(Sender::new(8).send(peer.as_fd(), parts.into_iter()).expect("sent"), 4);
        let mut receiver = Receiver::new(16, 4);
        assert_eq!(receiver.receive(ours.as_fd()).expect("received"), 6);
        let payloads: Vec<&[u8]> = (0..6).filter_map(|at| receiver.datagram(at)).map(|d| d.payload).collect();
        assert_eq!(payloads, [&b"one"[..], b"aa", b"bb", b"c", b"", b"too "]);
        let last = receiver.datagram(5).expect("the sixth");
        assert!(last.truncated && !receiver.datagram(0).expect("the first").truncated);
        assert_eq!(last.from, peer.local_addr().expect("address"));
        assert_eq!(last.local, Some("127.0.0.2".parse().expect("address")));
        assert!(receiver.datagram(6).is_none());
        assert_eq!(receiver.receive(ours.as_fd()).expect_err("nothing").kind(), io::ErrorKind::WouldBlock);
        assert!(receiver.datagram(0).is_none());
    }

    #[test]
    fn replies_come_from_where_they_are_told_to() {
        for (wildcard, local) in [("0.0.0.0:0", "127.0.0.9"), ("[::]:0", "::1")] {
            let ours = UdpSocket::bind(wildcard).expect("socket");
            let peer =
                UdpSocket::bind(format!("{}:0", if local == "::1" { "[::1]" } else { "127.0.0.1" })).expect("it");
            let to = peer.local_addr().expect("address");
            let from: IpAddr = local.parse().expect("address");
            let reply = Message { to, local: Some(from), payload: b"aabb", segment: 2 };
            Sender::new(1).send(ours.as_fd(), [reply].into_iter()).expect("sent");
            let mut buffer = [0; 8];
            let (octets, sender) = peer.recv_from(&mut buffer).expect("received");
            assert_eq!((octets, sender.ip()), (2, from));
        }
    }

    #[test]
    fn what_the_kernel_drops_is_told() {
        let ours = UdpSocket::bind("127.0.0.1:0").expect("socket");
        let peer = UdpSocket::bind("127.0.0.1:0").expect("socket");
        assert_eq!(dropped(ours.as_fd()).expect("figures"), 0);
        for _ in 0..5_000 {
            peer.send_to(&[0; 1000], ours.local_addr().expect("address")).expect("sent");
        }
        assert!(dropped(ours.as_fd()).expect("figures") > 0);
    }
}
