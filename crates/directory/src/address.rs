//! Where a server is, and how it is spoken to.

use std::fmt;

/// How octets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// As they are.
    Plain,
    /// In TLS, after a request for it (RFC 4511 section 4.14).
    StartTls,
    /// In TLS from the first one on.
    Tls,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    /// Its name or address, without brackets; its certificate has to be of this name.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How octets go.
    pub security: Security,
}

impl ServerAddress {
    /// Reads `ldap://host:port` and `ldaps://host:port`, the port left out or not.
    ///
    /// # Errors
    /// What is wrong, for people.
    pub fn new(text: &str, start_tls: bool) -> Result<ServerAddress, String> {
        let wrong = || format!("'{text}' is not of the form ldap://HOST:PORT or ldaps://HOST:PORT");
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let (security, port) = match (scheme, start_tls) {
            ("ldap", false) => (Security::Plain, 389),
            ("ldap", true) => (Security::StartTls, 389),
            ("ldaps", _) => (Security::Tls, 636),
            _ => return Err(wrong()),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, Some(port)),
            Some((host, port)) => (host, port.strip_prefix(':').and_then(|port| port.parse().ok())),
            None => match rest.rsplit_once(':') {
                Some((host, port)) => (host, port.parse().ok().filter(|_| !host.contains(':'))),
                None => (rest, Some(port)),
            },
        };
        let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'.' | b'-' | b'_' | b':');
        let port = port.filter(|port| *port != 0 && !host.is_empty() && host.bytes().all(is_plain));
        Ok(ServerAddress { host: host.to_owned(), port: port.ok_or_else(wrong)?, security })
    }
}

/// `ldap://host:port`, as it is shown; with StartTLS, too.
impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.security == Security::Tls { "ldaps" } else { "ldap" };
        if self.host.contains(':') {
            return write!(f, "{scheme}://[{}]:{}", self.host, self.port);
        }
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown() {
        let shown = |text, start_tls| ServerAddress::new(text, start_tls).map(|a| (a.to_string(), a.security));
        assert_eq!(shown("ldap://a.b/", false), Ok(("ldap://a.b:389".to_owned(), Security::Plain)));
        assert_eq!(shown("ldap://[::1]:3890", true), Ok(("ldap://[::1]:3890".to_owned(), Security::StartTls)));
        assert_eq!(shown("ldaps://[::1]", true), Ok(("ldaps://[::1]:636".to_owned(), Security::Tls)));
        for wrong in [
            "a",
            "ldap://",
            "ldap://a:0",
            "ldap://a:x",
            "ldap://a b",
            "ldap://a/dc=b",
            "http://a",
            "ldap://[::1",
            "ldap://::1",
        ] {
            assert!(ServerAddress::new(wrong, false).is_err(), "{wrong}");
        }
    }
}
