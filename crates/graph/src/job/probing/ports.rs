//! Ports: connections that are let go as soon as they are there, and datagrams that wait for an answer.

use super::number_of;
use crate::probe::Outcome;
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with, sockopt,
};
use std::collections::HashMap;
use std::net::SocketAddr;

/// What is on its way, by the number of its order.
#[derive(Default)]
pub(super) struct Ports(HashMap<u64, Port>);

struct Port {
    socket: OwnedFd,
    kind: SocketType,
}

impl Ports {
    /// Begins to connect; what came of it if that is known at once.
    pub(super) fn connect(&mut self, waits: &OwnedFd, ticket: u64, to: SocketAddr) -> Option<Outcome> {
        let began = self.open(SocketType::STREAM, to, |socket| match connect(socket, &to) {
            Ok(()) => Ok(true),
            Err(Errno::INPROGRESS) => Ok(false),
            Err(error) => Err(error),
        });
        self.begun(began, waits, ticket, epoll::EventFlags::OUT)
    }

    /// Sends a datagram from a port of its own, at which nobody else's answers come; what came of it if that is known
    /// at once.
    pub(super) fn ask(&mut self, waits: &OwnedFd, ticket: u64, to: SocketAddr, request: &[u8]) -> Option<Outcome> {
        let began = self.open(SocketType::DGRAM, to, |socket| {
            connect(socket, &to)?;
            send(socket, request, SendFlags::DONTWAIT).map(|_| false)
        });
        self.begun(began, waits, ticket, epoll::EventFlags::IN)
    }

    fn open(
        &self,
        kind: SocketType,
        to: SocketAddr,
        begin: impl FnOnce(&OwnedFd) -> Result<bool, Errno>,
    ) -> Result<(Port, bool), Errno> {
        let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket_with(family, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
        let is_over = begin(&socket)?;
        Ok((Port { socket, kind }, is_over))
    }

    fn begun(
        &mut self,
        began: Result<(Port, bool), Errno>,
        waits: &OwnedFd,
        ticket: u64,
        until: epoll::EventFlags,
    ) -> Option<Outcome> {
        match began {
            Ok((_, true)) => Some(Outcome::Answered),
            Ok((port, false)) => match epoll::add(waits, &port.socket, number_of(ticket), until) {
                Ok(()) => {
                    self.0.insert(ticket, port);
                    None
                }
                Err(error) => Some(Outcome::Impossible(error.to_string())),
            },
            Err(Errno::CONNREFUSED | Errno::CONNRESET) => Some(Outcome::Refused),
            Err(error @ (Errno::HOSTUNREACH | Errno::HOSTDOWN | Errno::TIMEDOUT)) => {
                Some(Outcome::Failed(error.to_string()))
            }
            // Without a way there, without a file, without the right: that says nothing of the device.
            Err(error) => Some(Outcome::Impossible(error.to_string())),
        }
    }

    /// Something has come of it: what.
    pub(super) fn came(&mut self, ticket: u64) -> Option<Outcome> {
        let Port { socket, kind } = self.0.remove(&ticket)?;
        let came = match kind {
            SocketType::DGRAM => recv(&socket, &mut [0; 1][..], RecvFlags::DONTWAIT).map(drop),
            _ => sockopt::socket_error(&socket).and_then(|error| error),
        };
        Some(match came {
            Ok(()) => Outcome::Answered,
            Err(Errno::CONNREFUSED | Errno::CONNRESET) => Outcome::Refused,
            Err(error) => Outcome::Failed(error.to_string()),
        })
    }

    /// Nobody waits for it any more.
    pub(super) fn forget(&mut self, ticket: u64) {
        self.0.remove(&ticket);
    }
}
