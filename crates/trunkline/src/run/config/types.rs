//! Types that only this configuration has.

use core::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use trunkline_kit::config::{Octets, Raw, Value, quoted};

trunkline_kit::choices! {
    /// How packets get here from the kernel.
    pub enum Source {
        /// Whatever works.
        Auto = "auto",
        /// AF_PACKET with TPACKET_V3.
        AfPacket = "af-packet",
        /// AF_XDP.
        AfXdp = "af-xdp",
    }
}

trunkline_kit::choices! {
    /// Who says when a packet came.
    pub enum Timestamps {
        /// The kernel.
        Software = "software",
        /// The network card.
        Hardware = "hardware",
    }
}

trunkline_kit::choices! {
    /// The classes of packets that are written.
    pub enum Classes {
        /// Signalling.
        Sip = "sip",
        /// RTP and RTCP.
        Rtp = "rtp",
        /// Everything else.
        Other = "other",
    }
}

trunkline_kit::choices! {
    /// How finished segments are compressed.
    pub enum Compress {
        /// Not at all.
        Off = "off",
        /// As zstd in the seekable format.
        Zstd = "zstd",
    }
}

trunkline_kit::choices! {
    /// Whether the page cache is bypassed.
    pub enum Direct {
        /// Where the file system can.
        Auto = "auto",
        /// Always; where the file system cannot, nothing is written.
        Always = "always",
        /// Never.
        Never = "never",
    }
}

trunkline_kit::choices! {
    /// The least important lines that are written.
    pub enum LogLevel {
        /// What stops the program from doing what it should.
        Error = "error",
        /// What is lost or unhealthy.
        Warn = "warn",
        /// What a person in charge wants to know.
        Info = "info",
        /// What helps to find a fault; with numbers and addresses.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
}

trunkline_kit::choices! {
    /// How a line of the log is written.
    pub enum LogFormat {
        /// For people.
        Text = "text",
        /// One JSON object a line.
        Json = "json",
    }
}

/// How much of each packet is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snap {
    /// All of it.
    Whole,
    /// Up to and with the header of UDP, TCP, SCTP or RTP.
    Headers,
    /// So many octets.
    Octets(u32),
}

/// The least octets of a packet that are written: Ethernet, IPv6 and UDP with a VLAN tag fit.
pub const SNAP_MIN: u32 = 64;
/// The most: what pcapng's readers take.
pub const SNAP_MAX: u32 = 262_144;

impl Value for Snap {
    fn kind() -> String {
        format!("\"whole\", \"headers\", or a size from \"{SNAP_MIN} B\" to \"{}\"", Octets(u64::from(SNAP_MAX)))
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        match raw.as_text() {
            Some("whole") => Ok(Snap::Whole),
            Some("headers") => Ok(Snap::Headers),
            _ => {
                let octets =
                    Octets::of(raw).map_err(|_| format!("expected {}, not {}", Self::kind(), raw.describe()))?;
                Octets::within(&octets, &Octets(u64::from(SNAP_MIN)), &Octets(u64::from(SNAP_MAX)))?;
                Ok(Snap::Octets(u32::try_from(octets.0).unwrap_or(SNAP_MAX)))
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Snap::Whole => quoted("whole"),
            Snap::Headers => quoted("headers"),
            Snap::Octets(octets) => Octets(u64::from(*octets)).text(),
        }
    }
}

/// How much an interface carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Microburst {
    /// Percent of its speed, more than 0, at most 100.
    Percent(f64),
    /// Bits a second, at least one.
    BitsPerSecond(u64),
}

/// Units of rates, bit/s.
const RATES: [(&str, u64); 4] = [("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)];

impl Microburst {
    /// The rate, bit/s, of an interface of this speed; none where that would have to be known.
    pub fn of(self, speed: Option<u64>) -> Option<u64> {
        match self {
            Microburst::Percent(percent) => speed.map(|speed| (speed as f64 * percent / 100.0) as u64),
            Microburst::BitsPerSecond(rate) => Some(rate),
        }
    }
}

impl Value for Microburst {
    fn kind() -> String {
        "a share such as \"70 %\" or a rate such as \"700 Mbit/s\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let wrong = || format!("expected {}, not {}", Self::kind(), raw.describe());
        let text = raw.as_text().ok_or_else(wrong)?.trim();
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let number: f64 = number.parse().ok().filter(|n| *n > 0.0).ok_or_else(wrong)?;
        if unit.trim() == "%" {
            return if number <= 100.0 { Ok(Microburst::Percent(number)) } else { Err(wrong()) };
        }
        let factor = RATES.iter().find(|(name, _)| *name == unit.trim()).ok_or_else(wrong)?.1;
        let rate = number * factor as f64;
        if (1.0..1e15).contains(&rate) { Ok(Microburst::BitsPerSecond(rate as u64)) } else { Err(wrong()) }
    }

    fn text(&self) -> String {
        match self {
            Microburst::Percent(percent) => quoted(&format!("{percent} %")),
            Microburst::BitsPerSecond(rate) => {
                let whole = RATES.iter().rev().find(|(_, factor)| rate % factor == 0).unwrap_or(&RATES[0]);
                quoted(&format!("{} {}", rate / whole.1, whole.0))
            }
        }
    }
}

/// Where something is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A Unix socket at this path.
    Unix(PathBuf),
    /// A TCP socket.
    Tcp(SocketAddr),
}

/// The longest path of a Unix socket: `sun_path` of unix(7) without its end.
pub const SOCKET_PATH_MAX: usize = 107;

impl Listen {
    /// The path of a Unix socket.
    pub fn path(&self) -> Option<&Path> {
        if let Listen::Unix(path) = self { Some(path) } else { None }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Listen::Unix(path) => write!(f, "unix:{}", path.display()),
            Listen::Tcp(address) => address.fmt(f),
        }
    }
}

impl Value for Listen {
    fn kind() -> String {
        "\"unix:PATH\" or \"ADDRESS:PORT\" such as \"127.0.0.1:9090\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let wrong = || format!("expected {}, not {}", Self::kind(), raw.describe());
        let text = raw.as_text().ok_or_else(wrong)?;
        let Some(path) = text.strip_prefix("unix:") else {
            return text.parse().map(Listen::Tcp).map_err(|_| wrong());
        };
        match path.len() {
            0 => Err(wrong()),
            1..=SOCKET_PATH_MAX => Ok(Listen::Unix(PathBuf::from(path))),
            n => Err(format!("the path of a socket has at most {SOCKET_PATH_MAX} octets, this one {n}")),
        }
    }

    fn text(&self) -> String {
        quoted(&self.to_string())
    }
}
