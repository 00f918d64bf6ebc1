//! Servers that are named by host and port.

use std::io;

pub use trunkline_kit::http::{Stream, connect, secure};

/// The host and the port of `host:port`; brackets of an IPv6 address are left out.
pub fn place(server: &str) -> io::Result<(String, u16)> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, format!("'{server}' is no host:port"));
    let (host, port) = server.rsplit_once(':').ok_or_else(wrong)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Ok((host.to_owned(), port.parse().map_err(|_| wrong())?))
}
