//! Opening what a server listens to: for each thread a socket of its own for every address.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trunkline_kit::place;

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustls::ServerConfig;

use crate::error::StartError;
use crate::options::{Limits, Listen};
use crate::sys;

/// What connections come from.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    /// Of this thread alone for TCP, of all threads for a unix socket.
    pub(crate) socket: Arc<OwnedFd>,
    pub(crate) listener: usize,
    pub(crate) unix: bool,
    pub(crate) tls: Option<Arc<ServerConfig>>,
}

/// What datagrams come from.
#[derive(Debug)]
pub(crate) struct UdpSocket {
    pub(crate) socket: OwnedFd,
    pub(crate) listener: u16,
    /// Whether the kernel cuts pieces into datagrams; not after it refused.
    pub(crate) segmentation: bool,
    /// Datagrams that the kernel dropped, as last seen.
    pub(crate) dropped: u32,
}

/// The sockets of a thread.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    pub(crate) doors: Vec<Door>,
    pub(crate) udp: Vec<UdpSocket>,
}

/// All that was opened.
#[derive(Debug)]
pub(crate) struct Opened {
    /// For each thread.
    pub(crate) threads: Vec<Sockets>,
    /// For each listener its address; none for unix sockets.
    pub(crate) addresses: Vec<Option<SocketAddr>>,
    pub(crate) files: Vec<SocketFile>,
}

/// The name of a unix socket, removed with this value.
#[derive(Debug)]
pub(crate) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // It may be gone already; nobody is served by an error now.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Opens all listeners for so many threads.
///
/// # Errors
/// Which listener cannot be opened, and why. Those opened before are closed.
pub(crate) fn open(
    listens: &[Listen],
    threads: usize,
    limits: &Limits,
    segmentation: bool,
) -> Result<Opened, StartError> {
    let mut opened = Opened {
        threads: (0..threads).map(|_| Sockets::default()).collect(),
        addresses: Vec::new(),
        files: Vec::new(),
    };
    for (listener, listen) in listens.iter().enumerate() {
        let address = match listen {
            Listen::Tcp { address, tls } => {
                open_tcp(*address, tls.as_ref().map(crate::Tls::config), listener, limits, &mut opened.threads)
                    .map(Some)
            }
            Listen::Udp { address } => {
                open_udp(*address, listener as u16, limits, segmentation, &mut opened.threads).map(Some)
            }
            Listen::Unix { path, mode } => open_unix(path, *mode, limits).map(|(socket, file)| {
                let door = Door { socket: Arc::new(socket), listener, unix: true, tls: None };
                opened.threads.iter_mut().for_each(|t| t.doors.push(door.clone()));
                opened.files.push(file);
                None
            }),
        };
        opened.addresses.push(address.map_err(|e| StartError::listen(listen, e))?);
    }
    Ok(opened)
}

fn open_tcp(
    address: SocketAddr,
    tls: Option<Arc<ServerConfig>>,
    listener: usize,
    limits: &Limits,
    threads: &mut [Sockets],
) -> Result<SocketAddr, Errno> {
    probe(address, SocketType::STREAM)?;
    let mut bound = address;
    for thread in threads {
        let socket = bind(bound, SocketType::STREAM, true)?;
        // Connections inherit both from the socket that they come from.
        sockopt::set_tcp_nodelay(&socket, true)?;
        sockopt::set_socket_keepalive(&socket, true)?;
        rustix::net::listen(&socket, i32::try_from(limits.backlog).unwrap_or(i32::MAX))?;
        bound = name(&socket)?;
        thread.doors.push(Door { socket: Arc::new(socket), listener, unix: false, tls: tls.clone() });
    }
    Ok(bound)
}

fn open_udp(
    address: SocketAddr,
    listener: u16,
    limits: &Limits,
    segmentation: bool,
    threads: &mut [Sockets],
) -> Result<SocketAddr, Errno> {
    probe(address, SocketType::DGRAM)?;
    let mut bound = address;
    for thread in threads {
        let socket = bind(bound, SocketType::DGRAM, true)?;
        if address.ip().is_unspecified() {
            sys::tell_local(socket.as_fd(), address.is_ipv6())
                .map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
        }
        // The system gives as much as it allows, without an error.
        sockopt::set_socket_recv_buffer_size(&socket, limits.udp_buffer_octets)?;
        sockopt::set_socket_send_buffer_size(&socket, limits.udp_buffer_octets)?;
        bound = name(&socket)?;
        thread.udp.push(UdpSocket { socket, listener, segmentation, dropped: 0 });
    }
    Ok(bound)
}

/// Finds out whether the address is free: sockets with SO_REUSEPORT would share it with those of another server of the
/// same user, silently.
fn probe(address: SocketAddr, kind: SocketType) -> Result<(), Errno> {
    if address.port() == 0 { Ok(()) } else { bind(address, kind, false).map(drop) }
}

fn bind(address: SocketAddr, kind: SocketType, shared: bool) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    if kind == SocketType::STREAM {
        // Connections of a server before this one, in TIME_WAIT, do not keep it from starting.
        sockopt::set_socket_reuseaddr(&socket, true)?;
    }
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    sockopt::set_socket_reuseport(&socket, shared)?;
    rustix::net::bind(&socket, &address)?;
    Ok(socket)
}

fn name(socket: &OwnedFd) -> Result<SocketAddr, Errno> {
    SocketAddr::try_from(rustix::net::getsockname(socket)?)
}

fn open_unix(path: &Path, mode: u32, limits: &Limits) -> Result<(OwnedFd, SocketFile), Errno> {
    let address = SocketAddrUnix::new(path)?;
    clear_the_way(path, &address)?;
    let socket = unix_socket()?;
    let mode = Mode::from_raw_mode(mode);
    // The file is made with the mode of the socket, less the umask: never more open than it shall be.
    rustix::fs::fchmod(&socket, mode)?;
    rustix::net::bind(&socket, &address)?;
    let file = SocketFile(path.to_owned());
    place::open_socket_to(path, mode.as_raw_mode()).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
    rustix::net::listen(&socket, i32::try_from(limits.backlog).unwrap_or(i32::MAX))?;
    Ok((socket, file))
}

fn unix_socket() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

/// Removes a socket that nobody listens to any more.
fn clear_the_way(path: &Path, address: &SocketAddrUnix) -> Result<(), Errno> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
        Ok(found) if !found.file_type().is_socket() => Err(Errno::EXIST),
        Ok(_) => match rustix::net::connect(&unix_socket()?, address) {
            Err(Errno::CONNREFUSED) => rustix::fs::unlink(path),
            _ => Err(Errno::ADDRINUSE),
        },
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn open_one(listen: &Listen, threads: usize) -> Result<Opened, StartError> {
        open(core::slice::from_ref(listen), threads, &Limits::default(), true)
    }

    #[test]
    fn an_address_is_shared_by_threads_and_not_by_servers() {
        for kind in ["tcp", "udp"] {
            let listen = |address: SocketAddr| match kind {
                "tcp" => Listen::Tcp { address, tls: None },
                _ => Listen::Udp { address },
            };
            let first = open_one(&listen("127.0.0.1:0".parse().expect("address")), 3).expect("a free port");
            let address = first.addresses[0].expect("an address");
            let text = open_one(&listen(address), 1).expect_err("it is in use").to_string();
            assert!(text.contains(&format!("{kind} {address}: Address already in use")), "{text}");
            drop(first);
            open_one(&listen(address), 2).expect("it is free again");
        }
    }

    #[test]
    fn a_unix_socket_replaces_one_that_nobody_listens_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let listen = Listen::Unix { path: path.clone(), mode: 0o640 };
        let first = open_one(&listen, 2).expect("a socket");
        let mode = || std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).expect("file").permissions());
        assert_eq!(mode() & 0o777, 0o640);
        assert!(open_one(&listen, 1).expect_err("in use").to_string().contains("Another program listens there"));
        core::mem::forget(first.files);
        drop(first.threads);
        assert!(path.exists());
        drop(open_one(&listen, 1).expect("nobody listens"));
        assert!(!path.exists());
        std::fs::write(&path, "precious").expect("written");
        assert!(open_one(&listen, 1).expect_err("no socket").to_string().contains("is no socket"));
        assert!(path.exists());
    }
}
