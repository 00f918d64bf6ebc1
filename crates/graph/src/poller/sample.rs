//! What a lane has found.

use super::{WalkEnd, health::Change};
use trunkline_wire::snmp::{Cause, Oid, Value, Varbind, Varbinds, write_varbind};

/// The value of a variable, or why it is unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// A number with a sign.
    Integer(i64),
    /// Counter32.
    Counter32(u32),
    /// Counter64.
    Counter64(u64),
    /// Gauge32, and numbers without a sign.
    Gauge(u64),
    /// TimeTicks: hundredths of a second.
    Ticks(u32),
    /// A number with a fraction, of net-snmp's types or of a text.
    Real(f64),
    /// There is none.
    Unknown(Unknown),
}

/// Why a reading is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unknown {
    /// The cycle's time was over before it was asked for or answered.
    NoTime,
    /// No answer came.
    Timeout,
    /// The device is down, and was not asked.
    Down,
    /// The device has no such variable at all.
    NoSuchObject,
    /// It has, but not with this index; of version 1 either.
    NoSuchInstance,
    /// It could not be asked for from here.
    NotAsked,
    /// The value is no number.
    NoNumber,
    /// The value is malformed.
    Malformed,
    /// The answer leaves it out.
    Omitted,
    /// It alone does not fit into an answer.
    TooBig,
    /// The device could not read it.
    AgentError,
    /// The device does not let us in, and says why.
    Refused(Cause),
    /// The device does not let us in, or what it answers is not authentic.
    Unauthentic,
}

/// The readings of a data source in one cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<'a> {
    /// The device.
    pub device: u32,
    /// The data source.
    pub source: u32,
    /// When its answer came, or when it was known that none would: milliseconds since 1970.
    pub unix_ms: i64,
    /// The device has started anew since the sample before: what counts has begun again.
    pub is_restarted: bool,
    /// One for each of its variables.
    pub readings: &'a [Reading],
}

/// What has happened to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is up or down now.
    Health {
        /// The device.
        device: u32,
        /// Which of them.
        change: Change,
    },
    /// It has answered, and somebody waits to hear that.
    Answered {
        /// The device.
        device: u32,
        /// When the cycle began in which it did: milliseconds since 1970.
        began_ms: i64,
    },
    /// It has started anew.
    Restarted {
        /// The device.
        device: u32,
        /// How long it says that it has been up: hundredths of a second.
        uptime: Option<u32>,
    },
    /// A cycle was due while the one before still ran: it was left out.
    Missed {
        /// The device.
        device: u32,
        /// How many in all.
        count: u64,
    },
    /// Its time was over before all was read.
    Cut {
        /// The device.
        device: u32,
        /// How many readings are unknown for that.
        readings: u32,
    },
    /// It does not let us in.
    Refused {
        /// The device.
        device: u32,
        /// What it says.
        cause: Cause,
    },
    /// Another engine answers there than before.
    EngineChanged {
        /// The device.
        device: u32,
    },
    /// A variable of a data source is not there any more: what is behind the index has gone or has moved.
    Gone {
        /// The device.
        device: u32,
        /// The data source.
        source: u32,
    },
    /// It is there again.
    Returned {
        /// The device.
        device: u32,
        /// The data source.
        source: u32,
    },
    /// A walk has ended.
    Walked {
        /// The device.
        device: u32,
        /// The number that the caller gave it.
        walk: u64,
        /// How it went.
        end: WalkEnd,
    },
}

impl Event {
    /// The device that it has happened to.
    pub fn device(&self) -> u32 {
        match *self {
            Event::Health { device, .. }
            | Event::Answered { device, .. }
            | Event::Restarted { device, .. }
            | Event::Missed { device, .. }
            | Event::Cut { device, .. }
            | Event::Refused { device, .. }
            | Event::EngineChanged { device }
            | Event::Gone { device, .. }
            | Event::Returned { device, .. }
            | Event::Walked { device, .. } => device,
        }
    }
}

/// A variable that a walk has found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Walked<'a> {
    /// The device.
    pub device: u32,
    /// The number that the caller gave the walk.
    pub walk: u64,
    /// The variable.
    pub varbind: Varbind<'a>,
}

/// What was found since the batch was emptied.
#[derive(Debug, Default)]
pub struct Batch {
    samples: Vec<Kept>,
    readings: Vec<Reading>,
    events: Vec<Event>,
    walked: Vec<(u32, u64, usize)>,
    walked_octets: Vec<u8>,
}

#[derive(Debug)]
struct Kept {
    device: u32,
    source: u32,
    unix_ms: i64,
    is_restarted: bool,
    end: usize,
}

impl Batch {
    /// The samples, in the order in which cycles ended.
    pub fn samples(&self) -> impl Iterator<Item = Sample<'_>> {
        let starts = core::iter::once(0).chain(self.samples.iter().map(|kept| kept.end));
        self.samples.iter().zip(starts).map(|(kept, start)| Sample {
            device: kept.device,
            source: kept.source,
            unix_ms: kept.unix_ms,
            is_restarted: kept.is_restarted,
            readings: &self.readings[start..kept.end],
        })
    }

    /// The events, in their order.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// What walks have found, in their order.
    pub fn walked(&self) -> impl Iterator<Item = Walked<'_>> {
        let starts = core::iter::once(0).chain(self.walked.iter().map(|(.., end)| *end));
        self.walked.iter().zip(starts).filter_map(|((device, walk, end), start)| {
            let varbind = Varbinds::new(&self.walked_octets[start..*end]).next()?.ok()?;
            Some(Walked { device: *device, walk: *walk, varbind })
        })
    }

    /// How many readings wait to be taken.
    pub fn readings(&self) -> usize {
        self.readings.len()
    }

    /// Whether nothing waits to be taken.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty() && self.events.is_empty() && self.walked.is_empty()
    }

    /// Forgets everything, and keeps the memory.
    pub fn clear(&mut self) {
        self.samples.clear();
        self.readings.clear();
        self.events.clear();
        self.walked.clear();
        self.walked_octets.clear();
    }

    pub(crate) fn sample(&mut self, sample: &Sample<'_>) {
        self.readings.extend_from_slice(sample.readings);
        let Sample { device, source, unix_ms, is_restarted, .. } = *sample;
        self.samples.push(Kept { device, source, unix_ms, is_restarted, end: self.readings.len() });
    }

    pub(super) fn event(&mut self, event: Event) {
        self.events.push(event);
    }

    pub(super) fn walk(&mut self, device: u32, walk: u64, name: Oid<'_>, value: &Value<'_>) {
        write_varbind(name, value, &mut self.walked_octets);
        self.walked.push((device, walk, self.walked_octets.len()));
    }
}

impl Reading {
    /// Of the value of a variable. Numbers that stand in text count, as agents of sensors send them.
    pub fn of(value: &Value<'_>) -> Reading {
        match *value {
            Value::Integer(number) | Value::Integer64(number) => Reading::Integer(number),
            Value::Counter32(number) => Reading::Counter32(number),
            Value::Counter64(number) => Reading::Counter64(number),
            Value::Gauge32(number) => Reading::Gauge(number.into()),
            Value::Unsigned64(number) => Reading::Gauge(number),
            Value::TimeTicks(number) => Reading::Ticks(number),
            Value::Float(number) => Reading::real(number.into()),
            Value::Double(number) => Reading::real(number),
            Value::OctetString(octets) => Reading::of_text(octets),
            Value::NoSuchObject => Reading::Unknown(Unknown::NoSuchObject),
            Value::NoSuchInstance | Value::EndOfMibView => Reading::Unknown(Unknown::NoSuchInstance),
            Value::Null | Value::ObjectId(_) | Value::IpAddress(_) | Value::Opaque(_) => {
                Reading::Unknown(Unknown::NoNumber)
            }
        }
    }

    fn of_text(octets: &[u8]) -> Reading {
        let text = core::str::from_utf8(octets).ok().map(|text| text.trim_matches(['\0', ' ', '\t', '\r', '\n']));
        text.and_then(|text| text.parse().ok()).map_or(Reading::Unknown(Unknown::NoNumber), Reading::real)
    }

    fn real(number: f64) -> Reading {
        if number.is_finite() { Reading::Real(number) } else { Reading::Unknown(Unknown::NoNumber) }
    }

    /// Whether the variable is not there.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Reading::Unknown(Unknown::NoSuchObject | Unknown::NoSuchInstance))
    }

    /// Whether it is known.
    pub fn is_known(&self) -> bool {
        !matches!(self, Reading::Unknown(_))
    }

    /// Whether it counts, and so begins again when the device does.
    pub fn is_counter(&self) -> bool {
        matches!(self, Reading::Counter32(_) | Reading::Counter64(_))
    }
}
