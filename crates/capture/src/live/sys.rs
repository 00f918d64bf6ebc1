//! The system calls of live capture, each behind a safe function.
#![expect(unsafe_code, reason = "calls the C library")]

use core::ffi::{c_int, c_ulong};
use core::mem::{MaybeUninit, size_of};
use core::ptr::NonNull;
use core::time::Duration;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::bpf::Instruction;

/// A type that the kernel may read from and write to as plain octets.
///
/// # Safety
/// Every pattern of octets is a value of it, and it has no padding.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: whole numbers.
unsafe impl Plain for c_int {}
// SAFETY: as above.
unsafe impl Plain for u32 {}

/// Marks types of the C library that consist of whole numbers without padding.
macro_rules! plain {
    ($($name:ty),+ $(,)?) => { $(
        // SAFETY: a struct of whole numbers, or arrays of them, laid out without padding.
        unsafe impl Plain for $name {}
    )+ };
}
plain!(libc::tpacket_req3, libc::tpacket_stats_v3, libc::packet_mreq, libc::sock_filter);
plain!(libc::sockaddr_ll, libc::sockaddr_xdp, libc::xdp_umem_reg, libc::xdp_mmap_offsets, libc::xdp_statistics);
plain!(libc::xdp_options);

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A socket of this family and type, closed on exec.
pub(crate) fn socket(family: c_int, kind: c_int) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only.
    let fd = check(unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: it was just opened, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Binds a socket to an address.
pub(crate) fn bind<T: Plain>(fd: BorrowedFd<'_>, address: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the address lives through the call and is so long.
    check(unsafe { libc::bind(fd.as_raw_fd(), core::ptr::from_ref(address).cast(), length) }).map(drop)
}

/// Sets a socket option.
pub(crate) fn set<T: Plain>(fd: BorrowedFd<'_>, level: c_int, name: c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    let value = core::ptr::from_ref(value).cast();
    // SAFETY: the value lives through the call and is so long.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, value, length) }).map(drop)
}

/// Asks for a socket option. What the kernel does not fill in is zero.
pub(crate) fn get<T: Plain>(fd: BorrowedFd<'_>, level: c_int, name: c_int) -> io::Result<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value has room for so many octets.
    check(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &mut length) })?;
    // SAFETY: all of it was zero, and any octets are a value.
    Ok(unsafe { value.assume_init() })
}

/// Gives a socket a program of classic BPF, as SO_ATTACH_FILTER or PACKET_FANOUT_DATA.
pub(crate) fn set_program(fd: BorrowedFd<'_>, level: c_int, name: c_int, program: &[Instruction]) -> io::Result<()> {
    let mut code: Vec<libc::sock_filter> =
        program.iter().map(|i| libc::sock_filter { code: i.code, jt: i.jt, jf: i.jf, k: i.k }).collect();
    let length = u16::try_from(code.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let whole = libc::sock_fprog { len: length, filter: code.as_mut_ptr() };
    let octets = size_of::<libc::sock_fprog>() as libc::socklen_t;
    let value = (&raw const whole).cast();
    // SAFETY: the kernel copies the instructions, which live through the call.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, value, octets) }).map(drop)
}

/// Waits until a descriptor has one of the events, for so long at most; the events it has, none after that time.
pub(crate) fn poll(fd: BorrowedFd<'_>, events: i16, wait: Duration) -> io::Result<i16> {
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 };
    let wait = timespec(wait);
    // SAFETY: one pollfd and a time that live through the call; no signal mask.
    match check(unsafe { libc::ppoll(&mut poll, 1, &wait, core::ptr::null()) }) {
        Ok(_) => Ok(poll.revents),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(0),
        Err(e) => Err(e),
    }
}

/// Waits for a time to pass, or a signal.
pub(crate) fn pause(wait: Duration) {
    let wait = timespec(wait);
    // SAFETY: a time that lives through the call, and nothing else.
    unsafe { libc::ppoll(core::ptr::null_mut(), 0, &wait, core::ptr::null()) };
}

fn timespec(wait: Duration) -> libc::timespec {
    let seconds = libc::time_t::try_from(wait.as_secs()).unwrap_or(libc::time_t::MAX);
    libc::timespec { tv_sec: seconds, tv_nsec: wait.subsec_nanos() as _ }
}

/// What the clock of the capture says, nanoseconds since 1970, UTC.
pub(crate) fn now_ns() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// What the clock says that only goes on (CLOCK_MONOTONIC), nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a time that is written to.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    (now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64)
}

/// Sends a message and receives one answer, of so many octets at most.
pub(crate) fn exchange(fd: BorrowedFd<'_>, message: &[u8], most: usize) -> io::Result<Vec<u8>> {
    // SAFETY: reads so many octets of the message, which lives through the call.
    let sent = unsafe { libc::send(fd.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut answer = vec![0; most];
    // SAFETY: writes so many octets at most into the answer, which lives through the call.
    let got = unsafe { libc::recv(fd.as_raw_fd(), answer.as_mut_ptr().cast(), most, 0) };
    answer.truncate(usize::try_from(got).map_err(|_| io::Error::last_os_error())?);
    Ok(answer)
}

/// Wakes a driver that waits for it.
pub(crate) fn kick(fd: BorrowedFd<'_>) {
    let (nothing, nobody) = (core::ptr::null_mut(), core::ptr::null_mut());
    // SAFETY: receives nothing into nothing.
    unsafe { libc::recvfrom(fd.as_raw_fd(), nothing, 0, libc::MSG_DONTWAIT, nobody, core::ptr::null_mut()) };
}

/// The number of an interface, in the network namespace of this thread.
pub(crate) fn interface_index(name: &str) -> io::Result<u32> {
    let name = std::ffi::CString::new(name)?;
    // SAFETY: the name ends with a zero and lives through the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// The names of all interfaces.
pub(crate) fn interface_names() -> Vec<String> {
    // SAFETY: takes nothing; the list is freed below.
    let list = unsafe { libc::if_nameindex() };
    let mut names = Vec::new();
    let mut at = list;
    while !at.is_null() {
        // SAFETY: within the list, which ends with an entry of zeros.
        let entry = unsafe { &*at };
        if entry.if_index == 0 || entry.if_name.is_null() {
            break;
        }
        // SAFETY: a string that ends with a zero, as long as the list lives.
        let name = unsafe { core::ffi::CStr::from_ptr(entry.if_name) };
        names.push(name.to_string_lossy().into_owned());
        // SAFETY: this entry was not the last.
        at = unsafe { at.add(1) };
    }
    if !list.is_null() {
        // SAFETY: made by `if_nameindex`, and freed once.
        unsafe { libc::if_freenameindex(list) };
    }
    names
}

/// A request about an interface (netdevice(7)): its name and 24 octets that depend on the request.
#[repr(C, align(8))]
pub(crate) struct Request {
    name: [u8; libc::IFNAMSIZ],
    pub(crate) value: [u8; 24],
}

impl Request {
    /// About an interface of this name; one too long is none.
    pub(crate) fn about(name: &str) -> io::Result<Request> {
        let mut request = Request { name: [0; libc::IFNAMSIZ], value: [0; 24] };
        if name.len() >= libc::IFNAMSIZ {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        request.name[..name.len()].copy_from_slice(name.as_bytes());
        Ok(request)
    }

    /// Makes a request whose answer lies in the request itself. None of those used here has a pointer in it.
    pub(crate) fn ask(&mut self, fd: BorrowedFd<'_>, request: Ask) -> io::Result<()> {
        // SAFETY: these requests read and write no more than the 40 octets of a `struct ifreq`.
        check(unsafe { libc::ioctl(fd.as_raw_fd(), request.number() as _, core::ptr::from_mut(self)) }).map(drop)
    }

    /// Makes a request whose argument lies elsewhere: SIOCETHTOOL and SIOCSHWTSTAMP. `octets` begins with what the
    /// request needs and is long enough for its answer.
    pub(crate) fn ask_about(mut self, fd: BorrowedFd<'_>, number: c_ulong, octets: &mut Argument) -> io::Result<()> {
        let pointer = core::ptr::from_mut(octets) as usize;
        self.value[..size_of::<usize>()].copy_from_slice(&pointer.to_ne_bytes());
        // SAFETY: the argument lives through the call and is longer than any of the answers asked for here.
        check(unsafe { libc::ioctl(fd.as_raw_fd(), number as _, &raw mut self) }).map(drop)
    }
}

/// Requests whose answer lies in `struct ifreq` itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ask {
    Flags,
    Mtu,
    Hardware,
}

impl Ask {
    fn number(self) -> c_ulong {
        match self {
            Ask::Flags => libc::SIOCGIFFLAGS,
            Ask::Mtu => libc::SIOCGIFMTU,
            Ask::Hardware => libc::SIOCGIFHWADDR,
        }
    }
}

/// The argument of a request that lies elsewhere, words of the machine's order.
#[repr(C, align(8))]
pub(crate) struct Argument(pub(crate) [u32; 128]);

/// Memory that a socket shares with the kernel.
#[derive(Debug)]
pub(crate) struct Mapping {
    at: NonNull<u8>,
    length: usize,
}

// SAFETY: a piece of memory that any thread may use; who may use which part of it is the business of `block` and `xdp`.
unsafe impl Send for Mapping {}
// SAFETY: as above; the mapping itself is only looked at.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps a socket's memory.
    pub(crate) fn of(fd: BorrowedFd<'_>, length: usize, offset: i64) -> io::Result<Mapping> {
        Mapping::map(length, libc::MAP_SHARED | libc::MAP_POPULATE, fd.as_raw_fd(), offset)
    }

    /// Memory of its own, zeros.
    pub(crate) fn own(length: usize) -> io::Result<Mapping> {
        Mapping::map(length, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1, 0)
    }

    fn map(length: usize, flags: c_int, fd: c_int, offset: i64) -> io::Result<Mapping> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping where the kernel likes it.
        let at = unsafe { libc::mmap(core::ptr::null_mut(), length, protection, flags, fd, offset as libc::off_t) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let at = NonNull::new(at.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { at, length })
    }

    /// Where it begins.
    pub(crate) fn at(&self) -> NonNull<u8> {
        self.at
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`, unmapped once, and whoever used a part of it held this.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.length) };
    }
}

/// A message to send: octets that live as long as the list it is in.
pub(crate) fn send_many(fd: BorrowedFd<'_>, packets: &[&[u8]]) -> io::Result<usize> {
    let mut parts: Vec<libc::iovec> =
        packets.iter().map(|p| libc::iovec { iov_base: p.as_ptr().cast_mut().cast(), iov_len: p.len() }).collect();
    // SAFETY: a message header of zeros is one without address, parts and flags.
    let empty: libc::mmsghdr = unsafe { core::mem::zeroed() };
    let mut messages = vec![empty; parts.len()];
    for (message, part) in messages.iter_mut().zip(&mut parts) {
        message.msg_hdr.msg_iov = part;
        message.msg_hdr.msg_iovlen = 1;
    }
    let count = messages.len() as _;
    // SAFETY: so many messages, whose parts and octets live through the call and are only read.
    check(unsafe { libc::sendmmsg(fd.as_raw_fd(), messages.as_mut_ptr(), count, 0) }).map(|n| n as usize)
}

/// A socket for questions about interfaces.
pub(crate) fn questions() -> io::Result<OwnedFd> {
    socket(libc::AF_INET, libc::SOCK_DGRAM)
}

/// The error that a socket has pending, none if it has none. Asking clears it.
pub(crate) fn pending_error(fd: &OwnedFd) -> io::Result<Option<io::Error>> {
    let code: c_int = get(fd.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR)?;
    Ok((code != 0).then(|| io::Error::from_raw_os_error(code)))
}
