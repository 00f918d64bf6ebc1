//! Why a server cannot start.

use std::io;

use crate::options::Listen;

/// A server could not be started; nothing of it is left open.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An option makes no sense: which, and what it may be.
    #[error("{0}")]
    Option(String),
    /// A listener cannot be opened: where, why, and what to do.
    #[error("cannot listen to {place}: {error}{}", advice(place, error))]
    Listen {
        /// Where: kind and address.
        place: String,
        /// What the system said.
        error: io::Error,
    },
    /// The system refuses what every server needs: descriptors, threads.
    #[error("{what}: {error}")]
    System {
        /// What was to be done.
        what: &'static str,
        /// What the system said.
        error: io::Error,
    },
}

impl StartError {
    pub(crate) fn listen(listen: &Listen, error: impl Into<io::Error>) -> StartError {
        StartError::Listen { place: listen.to_string(), error: error.into() }
    }

    pub(crate) fn system(what: &'static str, error: impl Into<io::Error>) -> StartError {
        StartError::System { what, error: error.into() }
    }
}

/// What to do about it.
fn advice(place: &str, error: &io::Error) -> String {
    let port = place.rsplit_once(':').map_or("", |(_, port)| port);
    match (error.raw_os_error(), place.split(' ').next()) {
        (Some(libc::EADDRINUSE), Some("unix")) => ". Another program listens there".to_owned(),
        (Some(libc::EADDRINUSE), kind) => {
            let kind = if kind == Some("udp") { 'u' } else { 't' };
            format!(". Another program listens there: ss -l{kind}np 'sport = :{port}' says which")
        }
        (Some(libc::EACCES), Some("unix")) => ". The folder does not allow it".to_owned(),
        (Some(libc::EACCES), _) => {
            ". Ports below 1024 need CAP_NET_BIND_SERVICE (systemd: AmbientCapabilities=CAP_NET_BIND_SERVICE)"
                .to_owned()
        }
        (Some(libc::EADDRNOTAVAIL), _) => {
            ". No interface has this address: ip address shows those there are".to_owned()
        }
        (Some(libc::EAFNOSUPPORT), _) => ". The system has no such addresses (IPv6 is switched off?)".to_owned(),
        (Some(libc::EMFILE), _) => ". Too many open files: raise the limit (systemd: LimitNOFILE=)".to_owned(),
        (Some(libc::EEXIST), _) => ". There is a file of that name that is no socket: remove it".to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_where_why_and_what_to_do() {
        let error =
            |listen: &Listen, number| StartError::listen(listen, io::Error::from_raw_os_error(number)).to_string();
        let udp = Listen::Udp { address: "[::1]:11211".parse().expect("address") };
        let text = error(&udp, libc::EADDRINUSE);
        assert!(text.starts_with("cannot listen to udp [::1]:11211: Address already in use"), "{text}");
        assert!(text.ends_with("ss -lunp 'sport = :11211' says which"), "{text}");
        let tcp = Listen::Tcp { address: "127.0.0.1:80".parse().expect("address"), tls: None };
        assert!(error(&tcp, libc::EACCES).contains("CAP_NET_BIND_SERVICE"));
        assert!(error(&tcp, libc::EADDRNOTAVAIL).contains("ip address"));
    }
}
