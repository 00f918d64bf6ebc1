//! Octets in and out of a connection, plain or through TLS.

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown};

use crate::connection::Connection;
use crate::counts::Counts;
use crate::input::Input;
use crate::pages::Pages;
use crate::pending::{Pending, ROOM_OCTETS, WARM_ROOMS_MAX};
use crate::service::Cause;
use crate::tls::Secured;

/// Octets that a record of TLS may hold back in the connection (RFC 8446, 5.2), so much more than was read may come
/// out.
const RECORD_OCTETS_MAX: usize = 17 * 1024;
/// Reads in a turn that bring nothing for the service: records of TLS that carry none.
const EMPTY_READS_MAX: usize = 8;
/// Octets read and thrown away of a connection that we close.
const DISCARDED_OCTETS_MAX: usize = 64 * 1024;

/// Buffers of a thread: for what is encrypted, and for what its connections cannot be rid of.
#[derive(Debug)]
pub(crate) struct Buffers {
    read: Vec<u8>,
    written: Vec<u8>,
    pages: Arc<Pages>,
}

impl Default for Buffers {
    fn default() -> Buffers {
        Buffers { read: Vec::new(), written: Vec::new(), pages: Pages::new(ROOM_OCTETS, WARM_ROOMS_MAX) }
    }
}

/// Reads what is there into `input`, once; how many octets came. After 0, nothing is there if
/// the connection is not marked readable.
///
/// # Errors
/// The connection is over, and why.
pub(crate) fn receive<C>(
    connection: &mut Connection<C>,
    input: &mut Input,
    buffers: &mut Buffers,
    counts: &mut Counts,
) -> Result<usize, Cause> {
    for _ in 0..EMPTY_READS_MAX {
        if !connection.readable {
            break;
        }
        let octets = match connection.tls.take() {
            None => receive_plain(connection, input.room(), counts)?,
            Some(mut tls) => {
                let got = receive_tls(connection, &mut tls, input, buffers, counts);
                connection.tls = Some(tls);
                got?
            }
        };
        if octets > 0 {
            input.filled(octets);
            return Ok(octets);
        }
    }
    Ok(0)
}

/// One read. Events are edge-triggered: a read that comes back short has emptied the socket, and what comes later is
/// an event again (epoll(7)); only the end of the stream may be behind it without one, if it was told already.
fn receive_plain<C>(connection: &mut Connection<C>, room: &mut [u8], counts: &mut Counts) -> Result<usize, Cause> {
    counts.reads += 1;
    let room_octets = room.len();
    match rustix::net::recv(&connection.stream, room, RecvFlags::empty()) {
        Ok((0, _)) => Err(Cause::Peer),
        Ok((octets, _)) => {
            connection.readable = octets == room_octets || connection.hangup;
            counts.received_octets += octets as u64;
            Ok(octets)
        }
        Err(Errno::INTR) => Ok(0),
        Err(Errno::AGAIN) => {
            connection.readable = false;
            Ok(0)
        }
        Err(_) => Err(Cause::Failed),
    }
}

fn receive_tls<C>(
    connection: &mut Connection<C>,
    tls: &mut Secured,
    input: &mut Input,
    buffers: &mut Buffers,
    counts: &mut Counts,
) -> Result<usize, Cause> {
    let room = input.room();
    let decrypted = drain(tls, room)?;
    if decrypted > 0 {
        return Ok(decrypted);
    }
    buffers.read.resize(room.len().saturating_sub(RECORD_OCTETS_MAX), 0);
    let octets = receive_plain(connection, &mut buffers.read, counts)?;
    let mut rest = &buffers.read[..octets];
    let mut got = 0;
    while !rest.is_empty() {
        tls.read_tls(&mut rest).map_err(|_| Cause::Tls)?;
        let Ok(state) = tls.process_new_packets() else {
            let _ = encrypt(tls, &[], &mut buffers.written).map(|()| send(&connection.stream, &buffers.written));
            return Err(Cause::Tls);
        };
        if state.peer_has_closed() {
            // No event will tell; the next read finds it, when all before it was shown.
            (connection.readable, connection.hangup) = (true, true);
        }
        match drain(tls, &mut room[got..]) {
            Ok(more) => got += more,
            Err(_) if got > 0 => break,
            Err(cause) => return Err(cause),
        }
    }
    Ok(got)
}

/// What was decrypted.
fn drain(tls: &mut Secured, room: &mut [u8]) -> Result<usize, Cause> {
    let mut got = 0;
    loop {
        match tls.reader().read(&mut room[got..]) {
            Ok(0) if got < room.len() => return if got > 0 { Ok(got) } else { Err(Cause::Peer) },
            Ok(octets) => got += octets,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(got),
            Err(_) => return Err(Cause::Peer),
        }
        if got == room.len() {
            return Ok(got);
        }
    }
}

fn encrypt(tls: &mut Secured, said: &[u8], wire: &mut Vec<u8>) -> Result<(), Cause> {
    wire.clear();
    tls.writer().write_all(said).map_err(|_| Cause::Tls)?;
    while tls.wants_write() {
        tls.write_tls(wire).map_err(|_| Cause::Tls)?;
    }
    Ok(())
}

/// Sends what the service said; what the peer does not take now waits with the connection. Octets that went.
///
/// # Errors
/// The connection is over, and why.
pub(crate) fn say<C>(
    connection: &mut Connection<C>,
    said: &[u8],
    buffers: &mut Buffers,
    counts: &mut Counts,
    now_ms: u64,
) -> Result<usize, Cause> {
    if connection.pending.is_some() {
        add(connection, said, buffers, now_ms)?;
        return Ok(0);
    }
    let wire = wire_of(connection.tls.as_deref_mut(), said, &mut buffers.written)?;
    if wire.is_empty() {
        return Ok(0);
    }
    let sent = send_all(&connection.stream, wire, counts)?;
    connection.moved_ms = now_ms;
    if sent < wire.len() {
        counts.stuck += 1;
        connection.pending.get_or_insert_default().put(&wire[sent..], &buffers.pages)?;
    }
    Ok(sent)
}

/// What goes over the wire for what the service said: that itself, or encrypted.
///
/// # Errors
/// TLS is over.
fn wire_of<'a>(tls: Option<&mut Secured>, said: &'a [u8], written: &'a mut Vec<u8>) -> Result<&'a [u8], Cause> {
    let Some(tls) = tls else { return Ok(said) };
    encrypt(tls, said, written)?;
    Ok(written)
}

/// Adds what the service said to what waits to be sent.
///
/// # Errors
/// TLS is over, or there is no memory.
pub(crate) fn add<C>(
    connection: &mut Connection<C>,
    said: &[u8],
    buffers: &mut Buffers,
    now_ms: u64,
) -> Result<(), Cause> {
    let wire = wire_of(connection.tls.as_deref_mut(), said, &mut buffers.written)?;
    if wire.is_empty() {
        return Ok(());
    }
    if connection.pending.is_none() {
        connection.moved_ms = now_ms;
    }
    connection.pending.get_or_insert_default().put(wire, &buffers.pages)
}

/// Sends what waits. Octets that went.
///
/// # Errors
/// The connection is over, and why.
pub(crate) fn flush<C>(connection: &mut Connection<C>, counts: &mut Counts, now_ms: u64) -> Result<usize, Cause> {
    let Some(pending) = &mut connection.pending else { return Ok(0) };
    let sent = send_pending(&connection.stream, pending, counts)?;
    if pending.len() == 0 {
        connection.pending = None;
    }
    if sent > 0 {
        connection.moved_ms = now_ms;
    }
    Ok(sent)
}

/// As [`send_all`], of what waits.
fn send_pending(stream: &OwnedFd, pending: &mut Pending, counts: &mut Counts) -> Result<usize, Cause> {
    let before = pending.len();
    while pending.len() > 0 {
        counts.writes += 1;
        let mut nothing = SendAncillaryBuffer::default();
        match rustix::net::sendmsg(stream, &pending.pieces(), &mut nothing, SendFlags::NOSIGNAL) {
            Ok(sent) => pending.take(sent),
            Err(Errno::AGAIN) => break,
            Err(Errno::INTR) => {}
            Err(_) => return Err(Cause::Failed),
        }
    }
    let sent = before - pending.len();
    counts.sent_octets += sent as u64;
    Ok(sent)
}

/// Sends until all is gone or the socket takes no more: then its next event tells when it does.
fn send_all(stream: &OwnedFd, octets: &[u8], counts: &mut Counts) -> Result<usize, Cause> {
    let mut sent = 0;
    while sent < octets.len() {
        counts.writes += 1;
        match send(stream, &octets[sent..]) {
            Ok(more) => sent += more,
            Err(Errno::AGAIN) => break,
            Err(Errno::INTR) => {}
            Err(_) => return Err(Cause::Failed),
        }
    }
    counts.sent_octets += sent as u64;
    Ok(sent)
}

fn send(stream: &OwnedFd, octets: &[u8]) -> Result<usize, Errno> {
    rustix::net::send(stream, octets, SendFlags::NOSIGNAL)
}

/// Says the end to a peer that does not know yet, and reads once what it still said: a socket that is closed with
/// unread octets is reset, and the peer could lose our last words (RFC 2525, 2.17).
pub(crate) fn part(stream: &OwnedFd, tls: Option<&mut Secured>) {
    if let Some(tls) = tls {
        let mut wire = Vec::new();
        tls.send_close_notify();
        // What it does not take now, it does without.
        let _ = encrypt(tls, &[], &mut wire).map(|()| send(stream, &wire));
    }
    let _ = rustix::net::shutdown(stream, Shutdown::Write);
    let mut discarded = vec![0; DISCARDED_OCTETS_MAX];
    let _ = rustix::net::recv(stream, &mut discarded[..], RecvFlags::empty());
}

/// Says something to a peer that is not let in, and closes.
pub(crate) fn refuse(stream: OwnedFd, text: &[u8]) {
    if !text.is_empty() {
        let _ = send(&stream, text);
    }
    part(&stream, None);
}
