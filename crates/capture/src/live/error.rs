//! What can go wrong with a live source, by what is to be done about it.

use std::io;
use std::path::PathBuf;

use crate::filter::FilterError;

/// Why an interface cannot be opened, or stopped giving packets.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// A capability is missing: what for, which, and what to do.
    #[error("{what} is not permitted: {capability} is missing. {}", advice(&[capability]))]
    NotPermitted {
        /// What was to be done.
        what: String,
        /// The capability's name, as in capabilities(7).
        capability: &'static str,
    },
    /// There is no interface of that name: the name, and those that there are.
    #[error("there is no interface '{name}'; there are: {}", known.join(", "))]
    NoInterface {
        /// As it was asked for.
        name: String,
        /// The names of the interfaces that there are.
        known: Vec<String>,
    },
    /// The interface is down. While capturing: it is waited for, and packets come again when it is up.
    #[error("interface {0} is down: ip link set dev {0} up")]
    Down(String),
    /// The interface is gone. It is waited for, and opened again when it comes back.
    #[error("interface {0} is gone")]
    Gone(String),
    /// An option makes no sense.
    #[error("{0}")]
    Option(String),
    /// The filter's expression is wrong.
    #[error("{0}")]
    Filter(#[from] FilterError),
    /// The kernel or the interface cannot do it.
    #[error("{0}")]
    Unsupported(String),
    /// The system refused something else.
    #[error("{what}: {error}")]
    System {
        /// What was to be done.
        what: String,
        /// What the system said.
        error: io::Error,
    },
}

impl LiveError {
    /// Whether it may pass by itself: the source goes on, and its next packets come when it has.
    pub fn passes(&self) -> bool {
        matches!(self, LiveError::Down(_) | LiveError::Gone(_))
    }

    /// From what the system said, where `EPERM` means that a capability is missing.
    pub(crate) fn of(what: &str, capability: &'static str, error: io::Error) -> LiveError {
        let what = what.to_owned();
        match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => LiveError::NotPermitted { what, capability },
            _ => LiveError::System { what, error },
        }
    }
}

/// How this program is given capabilities: the line to type, and the one for a service.
pub fn advice(capabilities: &[&str]) -> String {
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("trunkline"));
    let upper = capabilities.join(" ");
    let lower = capabilities.join(",").to_lowercase();
    format!(
        "Either: sudo setcap {lower}+ep {}; or in the systemd unit: AmbientCapabilities={upper}; or start it as root",
        program.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_capability_comes_with_advice() {
        let refused = io::Error::from_raw_os_error(libc::EPERM);
        let text = LiveError::of("capturing on eth0", "CAP_NET_RAW", refused).to_string();
        assert!(text.starts_with("capturing on eth0 is not permitted: CAP_NET_RAW is missing."), "{text}");
        assert!(text.contains("setcap cap_net_raw+ep /"), "{text}");
        assert!(text.contains("AmbientCapabilities=CAP_NET_RAW;"), "{text}");
    }
}
