//! What is polled, and how: as the inventory has it.

use core::fmt;
use std::net::SocketAddr;
use trunkline_wire::snmp::ObjectId;
use trunkline_wire::snmp::usm::{MasterKey, PrivacyProtocol, USER_OCTETS_MAX};

/// Devices of a lane.
// Limit: devices of one polling thread
// Beyond: a further device is not polled
// Seen in: the device's page
pub const DEVICES_MAX: usize = 1 << 20;
/// Variables that are read of one device.
// Limit: SNMP variables of one device
// Beyond: the device is not polled
// Seen in: the device's page
pub const VARIABLES_MAX: usize = 1 << 20;

/// A device and what is read of it.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its number in the inventory.
    pub id: u32,
    /// Where its agent listens. Answers are taken from there alone.
    pub address: SocketAddr,
    /// What lets us in.
    pub access: Access,
    /// How it is polled.
    pub settings: Settings,
    /// What is read of it.
    pub sources: Vec<Source>,
}

/// A data source: variables whose values belong together.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its number in the inventory.
    pub id: u32,
    /// The variables, with their instances.
    pub names: Vec<ObjectId>,
}

/// What lets us in. Communities are not shown.
#[derive(Clone, PartialEq, Eq)]
pub enum Access {
    /// Version 1, with a community.
    V1(Vec<u8>),
    /// Version 2c, with a community.
    V2c(Vec<u8>),
    /// Version 3, with a user.
    V3(Box<User>),
}

/// A user of version 3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: Vec<u8>,
    /// Which of the device's contexts; mostly empty.
    pub context: Vec<u8>,
    /// The keys, of no engine yet.
    pub security: Security,
}

/// The level of security, with keys of passwords.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Security {
    /// Neither authentication nor privacy.
    NoAuthNoPriv,
    /// Authentication.
    AuthNoPriv(MasterKey),
    /// Authentication, and privacy with a key of its own.
    AuthPriv(MasterKey, PrivacyProtocol, MasterKey),
}

/// How a device is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Seconds from one cycle to the next, 1 to 86,400.
    pub step_s: u32,
    /// Variables of a request, at most.
    pub varbinds_max: u16,
    /// Octets of a request and of its answer, as far as they can be foreseen.
    pub octets_max: u16,
    /// Requests that are on their way to it at once, at most.
    pub requests_max: u8,
    /// How often a request is sent before it is given up.
    pub tries: u8,
    /// How long an answer is waited for while nothing is known of the way there.
    pub first_timeout_ms: u32,
    /// The longest that one is waited for.
    pub timeout_ms_max: u32,
    /// The part of the step that a cycle may take, 1 to 100.
    pub budget_percent: u8,
    /// Cycles without an answer after which it is down.
    pub failures_to_down: u8,
    /// Cycles with one after which it is up again.
    pub successes_to_up: u8,
    /// Whether its cycles and readings are among those that the lane counts.
    pub is_counted: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            step_s: 60,
            varbinds_max: 60,
            octets_max: 1400,
            requests_max: 4,
            tries: 3,
            first_timeout_ms: 1000,
            timeout_ms_max: 5000,
            budget_percent: 80,
            failures_to_down: 2,
            successes_to_up: 1,
            is_counted: true,
        }
    }
}

/// Why a device cannot be polled as it is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// More than [`VARIABLES_MAX`].
    #[error("a device has at most {VARIABLES_MAX} variables")]
    Variables,
    /// [`DEVICES_MAX`] are there already.
    #[error("a lane has at most {DEVICES_MAX} devices")]
    Devices,
    /// A step of 0 or of more than a day.
    #[error("a step is 1 to 86400 seconds")]
    Step,
    /// A setting that is 0, or a budget over 100.
    #[error("settings of polling are at least 1, and the budget at most 100 percent")]
    Settings,
    /// A user's name of more than [`USER_OCTETS_MAX`] octets.
    #[error("the name of a user has at most {USER_OCTETS_MAX} octets")]
    User,
}

impl Target {
    /// Looks at all that has bounds.
    pub(super) fn check(&self) -> Result<(), TargetError> {
        let settings = &self.settings;
        if self.sources.iter().map(|source| source.names.len()).sum::<usize>() > VARIABLES_MAX {
            return Err(TargetError::Variables);
        }
        if !(1..=86_400).contains(&settings.step_s) {
            return Err(TargetError::Step);
        }
        let least = [
            u32::from(settings.varbinds_max),
            u32::from(settings.octets_max),
            settings.requests_max.into(),
            settings.tries.into(),
            settings.first_timeout_ms,
            settings.timeout_ms_max,
            settings.budget_percent.into(),
            settings.failures_to_down.into(),
            settings.successes_to_up.into(),
        ];
        if least.contains(&0) || settings.budget_percent > 100 {
            return Err(TargetError::Settings);
        }
        match &self.access {
            Access::V3(user) if user.name.len() > USER_OCTETS_MAX => Err(TargetError::User),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Access::V1(_) => f.write_str("V1"),
            Access::V2c(_) => f.write_str("V2c"),
            Access::V3(user) => write!(f, "V3({user:?})"),
        }
    }
}
