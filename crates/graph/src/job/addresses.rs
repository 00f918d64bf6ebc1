//! Names of devices are looked up by a thread of its own, so that a slow server of names delays nobody.

use super::owner::ToOwner;
use super::{MESSAGES_MAX, OpenError, thread};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{SyncSender, sync_channel};

/// A name that is to be looked up for a device.
#[derive(Debug)]
pub(super) struct Ask {
    pub device: u32,
    pub host: Box<str>,
    pub port: u16,
}

/// What a name is.
#[derive(Debug)]
pub(super) struct Known {
    pub device: u32,
    pub host: Box<str>,
    pub port: u16,
    /// Its first address, or why there is none.
    pub address: Result<SocketAddr, String>,
}

/// Starts the thread; it ends when nobody asks any more.
pub(super) fn start(to: SyncSender<ToOwner>) -> Result<SyncSender<Ask>, OpenError> {
    let (asks, hears) = sync_channel::<Ask>(MESSAGES_MAX);
    thread("graph-names", move || {
        for Ask { device, host, port } in hears {
            let found = (host.as_ref(), port).to_socket_addrs().map_err(|error| error.to_string());
            let address = found.and_then(|mut found| found.next().ok_or_else(|| "it has no address".to_owned()));
            if to.send(ToOwner::Address(Known { device, host, port, address })).is_err() {
                return;
            }
        }
    })?;
    Ok(asks)
}
