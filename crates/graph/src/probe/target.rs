//! What is probed, and how: as inventory and templates have it.

use super::prometheus::Selector;
use crate::inventory::{Availability, Probe};
use crate::template::{self, DataTemplate, HTTP_READS, ICMP_READS, PORT_READS, READS_MAX, SERIES_MAX, STEP_S};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Devices of a prober.
pub const PROBE_DEVICES_MAX: usize = 1 << 20;
/// Data sources of a device.
// Limit: data sources of one device that are not read by SNMP
// Beyond: the device is not probed
// Seen in: the device's page
pub const SOURCES_MAX: usize = 1 << 16;
/// Echo requests of a round.
const ECHOES_OF_ROUND_MAX: u32 = 100;
const TIMEOUT_MIN: Duration = Duration::from_millis(10);
const TIMEOUT_MAX: Duration = Duration::from_secs(300);

/// A device and what is read of it.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its number in the inventory.
    pub id: u32,
    /// Where it is.
    pub address: IpAddr,
    /// When it counts as up and as down.
    pub availability: Availability,
    /// Seconds between two rounds of that.
    pub step_s: u32,
    /// What is read of it.
    pub sources: Vec<Source>,
    /// Whether its rounds and readings are among those that are counted.
    pub is_counted: bool,
}

/// A data source.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its number in the inventory.
    pub id: u32,
    /// Seconds between two rounds.
    pub step_s: u32,
    /// How it is read.
    pub check: Check,
    /// What is read, a reading for each series.
    pub reads: Arc<Reads>,
}

/// What is read: for each series names, of which the first that is there counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Names, and pointers into JSON.
    Names(Vec<Vec<String>>),
    /// Metrics.
    Metrics(Vec<Vec<Selector>>),
}

/// How a data source is read. Everything is filled in: there are no fields any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// ICMP echo: [`ICMP_READS`].
    Icmp {
        /// Requests of a round.
        count: u32,
        /// How long the answer to each may take.
        timeout: Duration,
    },
    /// A connection to a port: [`PORT_READS`].
    Tcp {
        /// The port.
        port: u16,
        /// How long it may take.
        timeout: Duration,
    },
    /// A datagram to a port: [`PORT_READS`].
    Udp {
        /// The port.
        port: u16,
        /// What is sent.
        request: Vec<u8>,
        /// How long an answer may take.
        timeout: Duration,
    },
    /// A program: names of what it says, and [`SCRIPT_READS`](template::SCRIPT_READS).
    Script {
        /// Program and arguments.
        command: Vec<String>,
        /// How long it may take.
        timeout: Duration,
    },
    /// A page.
    Page {
        /// What is read of it.
        kind: PageKind,
        /// Where it is.
        url: String,
        /// How long it may take.
        timeout: Duration,
    },
    /// The program's own metrics.
    Program,
}

/// What is read of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// Pointers into a document of JSON.
    Json,
    /// Metrics of Prometheus.
    Prometheus,
    /// How it came: [`HTTP_READS`].
    Http,
}

/// Why a device cannot be probed as it is described.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// [`PROBE_DEVICES_MAX`] are there already.
    #[error("at most {PROBE_DEVICES_MAX} devices are probed")]
    Devices,
    /// More than [`SOURCES_MAX`].
    #[error("a device has at most {SOURCES_MAX} data sources that are not read by SNMP")]
    Sources,
    /// A step of 0 or of more than a day.
    #[error("a step is 1 to 86400 seconds")]
    Step,
    /// A timeout that is too short or too long.
    #[error("a timeout is 10 ms to 300 s")]
    Timeout,
    /// No echo requests or too many.
    #[error("a round has 1 to {ECHOES_OF_ROUND_MAX} echo requests")]
    Count,
    /// No round would take the device down or up.
    #[error("one failure and one recovery at least")]
    Availability,
    /// Port 0.
    #[error("a port is 1 to 65535")]
    Port,
    /// No program.
    #[error("a program has a name")]
    Command,
    /// What is read does not fit how it is read: which.
    #[error("'{0}' cannot be read there")]
    Read(String),
    /// Too many readings, or none.
    #[error("a data source has 1 to {SERIES_MAX} readings, each in 1 to {READS_MAX} ways")]
    Reads,
}

impl Source {
    /// What a data template says, with the fields of the device, the row and the data source filled in; none if it is
    /// read by SNMP. Readings are of the template's series, in their order: as they are read, before any factor.
    ///
    /// # Errors
    /// What is read cannot be read so.
    pub fn of<'f>(
        id: u32,
        step_s: u32,
        from: &DataTemplate,
        field: impl Fn(&str) -> Option<&'f str>,
    ) -> Option<Result<Source, TargetError>> {
        let check = Check::of(&from.source, &field)?;
        let names = |series: &template::Series| {
            let name = |reading: &template::Reading| match reading {
                template::Reading::Name(name) => template::expand(name, &field),
                template::Reading::Object(object) => object.to_string(),
            };
            series.read.iter().map(name).collect()
        };
        let names: Vec<Vec<String>> = from.series.iter().map(names).collect();
        Some(check.reads(names).map(|reads| Source { id, step_s, check, reads: Arc::new(reads) }))
    }

    /// Looks at all that has bounds.
    pub(crate) fn check(&self) -> Result<(), TargetError> {
        STEP_S.contains(&self.step_s).then_some(()).ok_or(TargetError::Step)?;
        let ways: Vec<usize> = match &*self.reads {
            Reads::Names(names) => names.iter().map(Vec::len).collect(),
            Reads::Metrics(metrics) => metrics.iter().map(Vec::len).collect(),
        };
        let is_right = (1..=SERIES_MAX).contains(&ways.len()) && ways.iter().all(|ways| (1..=READS_MAX).contains(ways));
        is_right.then_some(()).ok_or(TargetError::Reads)?;
        self.check.check()
    }
}

impl Check {
    fn of<'f>(source: &template::Source, field: &impl Fn(&str) -> Option<&'f str>) -> Option<Check> {
        let page = |kind, url: &template::Text, timeout: &Duration| Check::Page {
            kind,
            url: url.with(field),
            timeout: *timeout,
        };
        // What is no number is port 0, which is refused.
        let number = |port: &template::Text| port.with(field).parse().unwrap_or(0);
        Some(match source {
            template::Source::Snmp => return None,
            template::Source::Script { command, timeout } => {
                Check::Script { command: command.iter().map(|word| word.argument(field)).collect(), timeout: *timeout }
            }
            template::Source::Json { url, timeout } => page(PageKind::Json, url, timeout),
            template::Source::Prometheus { url, timeout } => page(PageKind::Prometheus, url, timeout),
            template::Source::Http { url, timeout } => page(PageKind::Http, url, timeout),
            template::Source::Icmp { count, timeout } => Check::Icmp { count: *count, timeout: *timeout },
            template::Source::Tcp { port, timeout } => Check::Tcp { port: number(port), timeout: *timeout },
            template::Source::Udp { port, request, timeout } => {
                Check::Udp { port: number(port), request: request.exactly(field).into_bytes(), timeout: *timeout }
            }
            template::Source::Program => Check::Program,
        })
    }

    /// What is read in that way.
    ///
    /// # Errors
    /// It cannot be read so.
    pub fn reads(&self, names: Vec<Vec<String>>) -> Result<Reads, TargetError> {
        let known: &[&str] = match self {
            Check::Icmp { .. } => &ICMP_READS,
            Check::Tcp { .. } | Check::Udp { .. } => &PORT_READS,
            Check::Page { kind: PageKind::Http, .. } => &HTTP_READS,
            Check::Program | Check::Page { kind: PageKind::Prometheus, .. } => {
                let metric = |text: String| Selector::parse(&text).ok_or(TargetError::Read(text));
                let ways = |ways: Vec<String>| ways.into_iter().map(metric).collect();
                return names.into_iter().map(ways).collect::<Result<_, _>>().map(Reads::Metrics);
            }
            Check::Script { .. } | Check::Page { kind: PageKind::Json, .. } => return Ok(Reads::Names(names)),
        };
        match names.iter().flatten().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(TargetError::Read(name.clone())),
            None => Ok(Reads::Names(names)),
        }
    }

    fn check(&self) -> Result<(), TargetError> {
        match self {
            Check::Icmp { count, .. } if !(1..=ECHOES_OF_ROUND_MAX).contains(count) => return Err(TargetError::Count),
            Check::Tcp { port: 0, .. } | Check::Udp { port: 0, .. } => return Err(TargetError::Port),
            Check::Script { command, .. } if command.first().is_none_or(String::is_empty) => {
                return Err(TargetError::Command);
            }
            _ => {}
        }
        let is_right = self.timeout().is_none_or(|timeout| (TIMEOUT_MIN..=TIMEOUT_MAX).contains(&timeout));
        is_right.then_some(()).ok_or(TargetError::Timeout)
    }

    /// How long its answer may take.
    pub(super) fn timeout(&self) -> Option<Duration> {
        match self {
            Check::Icmp { timeout, .. }
            | Check::Tcp { timeout, .. }
            | Check::Udp { timeout, .. }
            | Check::Script { timeout, .. }
            | Check::Page { timeout, .. } => Some(*timeout),
            Check::Program => None,
        }
    }
}

impl Target {
    /// Looks at all that has bounds.
    pub(super) fn check(&self) -> Result<(), TargetError> {
        let Availability { probes, failures, recoveries, timeout_ms, .. } = &self.availability;
        if self.sources.len() > SOURCES_MAX {
            return Err(TargetError::Sources);
        }
        if !STEP_S.contains(&self.step_s) {
            return Err(TargetError::Step);
        }
        if *failures == 0 || *recoveries == 0 {
            return Err(TargetError::Availability);
        }
        if !(TIMEOUT_MIN..=TIMEOUT_MAX).contains(&Duration::from_millis(u64::from(*timeout_ms))) {
            return Err(TargetError::Timeout);
        }
        if probes.iter().any(|probe| matches!(probe, Probe::Tcp { port: 0 } | Probe::Udp { port: 0 })) {
            return Err(TargetError::Port);
        }
        self.sources.iter().try_for_each(Source::check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[data.t]\nsource = \"udp\"\nport = \"|argument.port|\"\nrequest = \"to |address|\\r\\n\"\n\
        [[data.t.series]]\nname = \"up\"\nread = [\"up\"]\n\
        [data.p]\nsource = \"prometheus\"\nurl = \"http://|address|:9100/\"\n\
        [[data.p.series]]\nname = \"a\"\nread = [\"a{b=\\\"|device|\\\"}\", \"c\"]\n";

    #[test]
    fn templates_become_checks_with_fields_filled_in() {
        let library = template::read(&[("t.toml", TEXT)], template::built_in::library()).unwrap();
        let field = |port: &'static str| {
            move |name: &str| match name {
                "address" => Some("192.0.2.1"),
                "device" => Some("edge-1"),
                "argument.port" => Some(port),
                _ => None,
            }
        };
        let of = |name: &str, port| Source::of(7, 60, &library.data[name], field(port)).unwrap().unwrap();
        let udp = of("t", "5060");
        let (request, timeout) = (b"to 192.0.2.1\r\n".to_vec(), Duration::from_secs(5));
        assert_eq!((udp.id, &udp.check), (7, &Check::Udp { port: 5060, request, timeout }));
        assert_eq!(udp.check(), Ok(()));
        assert_eq!(of("t", "no port").check(), Err(TargetError::Port));
        let wanted = ["a{b=\"edge-1\"}", "c"].map(|text| Selector::parse(text).unwrap()).to_vec();
        assert_eq!(*of("p", "").reads, Reads::Metrics(vec![wanted]));
        assert!(Source::of(1, 60, &template::built_in::library().data["uptime"], field("")).is_none());
        // All that comes with the program and is not read by SNMP can be probed.
        for (name, data) in &template::built_in::library().data {
            if let Some(source) = Source::of(1, 60, data, field("5060")) {
                assert_eq!(source.unwrap().check(), Ok(()), "{name}");
            }
        }
    }
}
