//! TCP and Unix sockets as one.

use crate::run::config::{Listen, SOCKET_PATH_MAX};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;
use trunkline_kit::place;

/// The mode of a Unix socket: who started the program, and the group.
const MODE: u32 = 0o660;

/// A socket that listens. A Unix socket is removed with it.
#[derive(Debug)]
pub enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

impl Listener {
    pub fn bind(listen: &Listen) -> io::Result<Self> {
        let listener = match listen {
            Listen::Tcp(address) => Listener::Tcp(TcpListener::bind(address)?),
            Listen::Unix(path) => {
                remove_stale(path)?;
                let listener = Listener::Unix(UnixListener::bind(Short::of(path)?.path())?, path.clone());
                place::open_socket_to(path, MODE)?;
                listener
            }
        };
        match &listener {
            Listener::Tcp(socket) => socket.set_nonblocking(true)?,
            Listener::Unix(socket, _) => socket.set_nonblocking(true)?,
        }
        Ok(listener)
    }

    pub fn address(&self) -> Listen {
        match self {
            Listener::Tcp(socket) => {
                Listen::Tcp(socket.local_addr().unwrap_or_else(|_| std::net::SocketAddr::from(([0, 0, 0, 0], 0))))
            }
            Listener::Unix(_, path) => Listen::Unix(path.clone()),
        }
    }

    /// Waits for a connection, or for `stopped` to end.
    pub fn wait(&self, stopped: &UnixStream) -> io::Result<()> {
        let socket = match self {
            Listener::Tcp(socket) => PollFd::new(socket, PollFlags::IN),
            Listener::Unix(socket, _) => PollFd::new(socket, PollFlags::IN),
        };
        match poll(&mut [socket, PollFd::new(stopped, PollFlags::IN)], None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The next connection; none if it has gone in the meantime.
    pub fn accept(&self) -> io::Result<Option<Stream>> {
        let accepted = match self {
            Listener::Tcp(socket) => socket.accept().map(|(stream, _)| Stream::Tcp(stream)),
            Listener::Unix(socket, _) => socket.accept().map(|(stream, _)| Stream::Unix(stream)),
        };
        match accepted {
            Ok(stream) => Ok(Some(stream)),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionAborted) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Connects to a Unix socket, however long its path is.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(Short::of(path)?.path())
}

/// A path that fits into `sun_path` of unix(7): where it is too long, by way of its folder, opened.
struct Short {
    path: PathBuf,
    _folder: Option<OwnedFd>,
}

impl Short {
    fn of(path: &Path) -> io::Result<Short> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(ErrorKind::InvalidInput.into());
        };
        if path.as_os_str().len() <= SOCKET_PATH_MAX {
            return Ok(Short { path: path.to_path_buf(), _folder: None });
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(folder, flags, Mode::empty())?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
        Ok(Short { path, _folder: Some(folder) })
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes a socket that nobody listens on; anything else at that path stays, and binding says that it is in use.
fn remove_stale(path: &Path) -> io::Result<()> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    let refused = || connect(path).is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused);
    if is_socket && refused() { std::fs::remove_file(path) } else { Ok(()) }
}

/// A connection.
#[derive(Debug)]
pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Stream::Tcp(stream) => Stream::Tcp(stream.try_clone()?),
            Stream::Unix(stream) => Stream::Unix(stream.try_clone()?),
        })
    }

    /// Ends it: whoever waits for it in another thread goes on.
    pub fn close(&self) {
        self.shut(Shutdown::Both);
    }

    /// Says that no more is sent.
    pub fn finish(&self) {
        self.shut(Shutdown::Write);
    }

    fn shut(&self, how: Shutdown) {
        let _ = match self {
            Stream::Tcp(stream) => stream.shutdown(how),
            Stream::Unix(stream) => stream.shutdown(how),
        };
    }

    /// Reads once, for at most that long.
    pub fn read(&self, octets: &mut [u8], time: Duration) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => {
                stream.set_read_timeout(Some(time))?;
                (&*stream).read(octets)
            }
            Stream::Unix(stream) => {
                stream.set_read_timeout(Some(time))?;
                (&*stream).read(octets)
            }
        }
    }

    /// Writes once, for at most that long.
    pub fn write(&self, octets: &[u8], time: Duration) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => {
                stream.set_write_timeout(Some(time))?;
                (&*stream).write(octets)
            }
            Stream::Unix(stream) => {
                stream.set_write_timeout(Some(time))?;
                (&*stream).write(octets)
            }
        }
    }
}
