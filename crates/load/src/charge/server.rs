//! A charging server as it is typed: `host`, `host:port`, `[v6]:port`.

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;
use trunkline_show::failure::Failure;

/// A server; its name is not looked up yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    host: String,
    /// None is that of the protocol.
    port: Option<u16>,
}

impl FromStr for Server {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Server { host: address.to_string(), port: None });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().map_err(|_| format!("'{port}' is no port"))?)),
            None => (text, None),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if bare.is_empty() || port == Some(0) {
            return Err("a host with a port, such as 127.0.0.1:3868".to_owned());
        }
        Ok(Server { host: bare.to_owned(), port })
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.host.contains(':'), self.port) {
            (true, Some(port)) => write!(f, "[{}]:{port}", self.host),
            (false, Some(port)) => write!(f, "{}:{port}", self.host),
            (_, None) => f.write_str(&self.host),
        }
    }
}

impl Server {
    /// The first address of its name, with this port if none was typed.
    ///
    /// # Errors
    /// Nobody knows the name.
    pub fn address(&self, port_default: u16) -> Result<SocketAddr, Failure> {
        let place = (self.host.as_str(), self.port.unwrap_or(port_default));
        let found = place.to_socket_addrs().map_err(|e| Failure::Failed(format!("{self}: {e}")))?;
        let missing = || Failure::Failed(format!("{self}: the name has no address"));
        found.into_iter().next().ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports() {
        let shown = |text: &str| text.parse::<Server>().map(|server| server.to_string());
        assert_eq!(shown("ocs.example:3869").unwrap(), "ocs.example:3869");
        assert_eq!(shown("[::1]:3868").unwrap(), "[::1]:3868");
        assert_eq!(shown("::1").unwrap(), "::1");
        for bad in ["", ":3868", "host:", "host:0", "host:70000", "[]:1"] {
            assert!(shown(bad).is_err(), "{bad}");
        }
        let server: Server = "127.0.0.1".parse().unwrap();
        assert_eq!(server.address(3868).unwrap(), "127.0.0.1:3868".parse().unwrap());
    }
}
