//! Devices.

use super::credential::Credentials;
use trunkline_kit::{octet_fields, octet_variants, octet_words};

/// Probes of a device that people name.
// Limit: up/down checks of one device
// Beyond: the order is refused
// Seen in: the error message
pub const PROBES_MAX: usize = 16;
/// Rounds until a device is down, or up again, that people name.
pub const ROUNDS: core::ops::RangeInclusive<u16> = 1..=200;

/// What is polled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name, unique.
    pub name: Box<str>,
    /// Where it is: an address, or a name that is resolved.
    pub address: Box<str>,
    /// How it is asked.
    pub access: Access,
    /// Where it stands.
    pub site: Option<u32>,
    /// The device template, by the number that stands for its name.
    pub template: Option<u32>,
    /// Seconds between two cycles, where that is not what its data templates say.
    pub step: Option<u32>,
    /// When it counts as up and as down.
    pub availability: Availability,
    /// Whether it is polled, and whether it may alarm.
    pub state: DeviceState,
    /// Devices on the way to it: while they are down, it is not reached and does not alarm.
    pub behind: Vec<u32>,
    /// For people.
    pub notes: Box<str>,
}

/// How a device is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The version of SNMP; none is a device without it.
    pub version: Option<Version>,
    /// The port of its agent.
    pub port: u16,
    /// With what; none is as the public is.
    pub credential: Option<u32>,
    /// How long an answer may take, milliseconds.
    pub timeout_ms: u32,
    /// How often a request without an answer is sent again.
    pub retries: u8,
    /// Objects of one request at most.
    pub objects_max: u16,
}

/// A version of SNMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// RFC 1157.
    V1,
    /// RFC 3416 with communities.
    V2c,
    /// RFC 3412 with users.
    V3,
}

/// When a device counts as up and as down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Availability {
    /// What is tried; nothing is a device that is always up.
    pub probes: Vec<Probe>,
    /// Whether all of them must be answered, or one.
    pub all: bool,
    /// Rounds without an answer until it is down.
    pub failures: u16,
    /// Rounds with one until it is up again.
    pub recoveries: u16,
    /// How long an answer may take, milliseconds.
    pub timeout_ms: u32,
    /// How often a probe without an answer is sent again.
    pub retries: u8,
}

/// What is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// ICMP echo.
    Icmp {},
    /// A datagram to a port; "port unreachable" is an answer, too.
    Udp {
        /// The port.
        port: u16,
    },
    /// A connection to a port; one that is refused is an answer, too.
    Tcp {
        /// The port.
        port: u16,
    },
    /// sysUpTime of its agent.
    Snmp {},
}

/// Whether a device is polled, and whether it may alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceState {
    /// Both.
    Active,
    /// It is polled, and does not alarm.
    Maintenance,
    /// Neither.
    Disabled,
}

/// What a device said of itself (SNMPv2-MIB, system group).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// sysObjectID.
    pub object: Box<str>,
    /// sysName.
    pub name: Box<str>,
    /// sysDescr.
    pub description: Box<str>,
    /// sysLocation.
    pub location: Box<str>,
    /// sysContact.
    pub contact: Box<str>,
}

impl core::fmt::Display for Probe {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Probe::Icmp {} => f.write_str("icmp"),
            Probe::Udp { port } => write!(f, "udp:{port}"),
            Probe::Tcp { port } => write!(f, "tcp:{port}"),
            Probe::Snmp {} => f.write_str("snmp"),
        }
    }
}

impl Probe {
    /// Reads `icmp`, `snmp`, `tcp:5060` or `udp:5060`; none is none of them.
    pub fn parse(text: &str) -> Option<Probe> {
        let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
        match text.split_once(':') {
            None if text == "icmp" => Some(Probe::Icmp {}),
            None if text == "snmp" => Some(Probe::Snmp {}),
            Some(("tcp", number)) => port(number).map(|port| Probe::Tcp { port }),
            Some(("udp", number)) => port(number).map(|port| Probe::Udp { port }),
            _ => None,
        }
    }
}

impl Availability {
    /// As people say it. Who names no probe means SNMP, or ICMP echo for devices without it.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn said(
        probes: &[impl AsRef<str>],
        all: bool,
        failures: Option<u16>,
        recoveries: Option<u16>,
        by_snmp: bool,
    ) -> Result<Availability, String> {
        let default = Availability::default();
        let mut known: Vec<Probe> = Vec::new();
        for text in probes.iter().map(AsRef::as_ref) {
            let probe = Probe::parse(text);
            let probe = probe.ok_or_else(|| format!("'{text}' is none of icmp, snmp, tcp:PORT, udp:PORT"))?;
            if probe == (Probe::Snmp {}) && !by_snmp {
                return Err("a device without SNMP cannot be probed by it".to_owned());
            }
            if !known.contains(&probe) {
                known.push(probe);
            }
        }
        if known.len() > PROBES_MAX {
            return Err(format!("a device has at most {PROBES_MAX} probes"));
        }
        if known.is_empty() {
            known.push(if by_snmp { Probe::Snmp {} } else { Probe::Icmp {} });
        }
        let (failures, recoveries) = (failures.unwrap_or(default.failures), recoveries.unwrap_or(default.recoveries));
        if ![failures, recoveries].iter().all(|rounds| ROUNDS.contains(rounds)) {
            return Err(format!("failures and recoveries are {} to {} rounds", ROUNDS.start(), ROUNDS.end()));
        }
        Ok(Availability { probes: known, all, failures, recoveries, ..default })
    }
}

impl Default for Access {
    fn default() -> Self {
        Access {
            version: Some(Version::V2c),
            port: 161,
            credential: None,
            timeout_ms: 1000,
            retries: 2,
            objects_max: 60,
        }
    }
}

impl Default for Availability {
    fn default() -> Self {
        let probes = vec![Probe::Snmp {}];
        Availability { probes, all: false, failures: 2, recoveries: 1, timeout_ms: 1000, retries: 1 }
    }
}

impl Device {
    /// A device that is asked by SNMP v2c.
    pub fn new(name: &str, address: &str) -> Device {
        Device {
            name: name.into(),
            address: address.into(),
            access: Access::default(),
            site: None,
            template: None,
            step: None,
            availability: Availability::default(),
            state: DeviceState::Active,
            behind: Vec::new(),
            notes: Box::default(),
        }
    }

    /// What is wrong with it by itself, if anything.
    pub(super) fn wrong(&self, credentials: &Credentials) -> Option<String> {
        use super::Login;
        let login = self.access.credential.and_then(|id| credentials.get(id)).map(|credential| &credential.login);
        let fits = match (self.access.version, login) {
            (Some(Version::V1 | Version::V2c), Some(login)) => matches!(login, Login::Community { .. }),
            (Some(Version::V3), Some(login)) => matches!(login, Login::User { .. }),
            (Some(Version::V3), None) => false,
            _ => true,
        };
        let inside = |b: u8| b.is_ascii_alphanumeric() || b".-_:%[]".contains(&b);
        if self.address.is_empty() || self.address.len() > 255 || !self.address.bytes().all(inside) {
            return Some(format!("'{}' is no address: an IP address or a host name", self.address));
        }
        if !fits {
            return Some("SNMP v1 and v2c need a community, v3 needs a user".to_owned());
        }
        if self.step.is_some_and(|step| !crate::template::STEP_S.contains(&step)) {
            return Some("a step has 1 to 86,400 seconds".to_owned());
        }
        if self.availability.failures == 0 || self.availability.recoveries == 0 {
            return Some("one failure and one recovery at least".to_owned());
        }
        let times = [self.access.timeout_ms, self.availability.timeout_ms];
        if times.iter().any(|time| !(10..=60_000).contains(time)) {
            return Some("a timeout has 10 to 60,000 milliseconds".to_owned());
        }
        (self.access.objects_max == 0).then(|| "one object of a request at least".to_owned())
    }
}

octet_fields! {
    Device { name, address, access, site, template, step, availability, state, behind, notes }
    Access { version, port, credential, timeout_ms, retries, objects_max }
    Availability { probes, all, failures, recoveries, timeout_ms, retries }
    Observed { object, name, description, location, contact }
}
octet_words! {
    Version { 1 => V1, 2 => V2c, 3 => V3 }
    DeviceState { 0 => Active, 1 => Maintenance, 2 => Disabled }
}
octet_variants! {
    Probe {
        1 => Icmp {}
        2 => Udp { port }
        3 => Tcp { port }
        4 => Snmp {}
    }
}
