//! What a page comes to.

use super::round::{named, unknown};
use super::target::{PageKind, Reads};
use super::{Outcome, json, prometheus};
use crate::poller::{Reading, Unknown};

/// Octets of a page; one that has more is not read.
// Limit: size of one fetched page
// Beyond: the page is not read
// Seen in: the device's page
pub const PAGE_OCTETS_MAX: usize = 8 << 20;

/// How a page came. Times are since it was begun to ask for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The status code.
    pub status: u16,
    /// When the connection was there.
    pub connected_ns: u64,
    /// When the answer began.
    pub first_octet_ns: u64,
    /// When it was whole.
    pub total_ns: u64,
    /// Until its certificate ends, seconds, if it has one.
    pub certificate_left_s: Option<i64>,
    /// What it says.
    pub body: Vec<u8>,
}

impl Page {
    /// What was wanted of it.
    pub fn outcome(&self, kind: PageKind, reads: &Reads) -> Outcome {
        let (mut started, mut fault) = (None, None);
        let readings = match (kind, reads) {
            (PageKind::Http, _) => {
                fault = (self.status >= 400).then(|| format!("status {}", self.status));
                named(reads, |name| self.reading(name))
            }
            _ if !(200..300).contains(&self.status) => {
                fault = Some(format!("status {}", self.status));
                unknown(reads, Unknown::AgentError)
            }
            (PageKind::Json, Reads::Names(names)) => match json::read(&self.body, names) {
                Ok(readings) => readings,
                Err(why) => {
                    fault = Some(why);
                    unknown(reads, Unknown::Malformed)
                }
            },
            (PageKind::Prometheus, Reads::Metrics(metrics)) => {
                let found = prometheus::read(&self.body, metrics);
                fault = (found.malformed > 0).then(|| format!("{} lines are no metrics", found.malformed));
                started = found.started;
                match found.lines {
                    0 => unknown(reads, Unknown::Malformed),
                    _ => found.readings,
                }
            }
            _ => unknown(reads, Unknown::Omitted),
        };
        Outcome::Said { readings, started, fault }
    }

    fn reading(&self, name: &str) -> Reading {
        let seconds = |ns: u64| Reading::Real(ns as f64 / 1e9);
        match name {
            "up" => Reading::Integer((self.status < 400).into()),
            "status" => Reading::Integer(self.status.into()),
            "time-connect" => seconds(self.connected_ns),
            "time-first-octet" => seconds(self.first_octet_ns),
            "time-total" => seconds(self.total_ns),
            "octets" => Reading::Integer(self.body.len() as i64),
            "certificate-left" => self.certificate_left_s.map_or(Reading::Unknown(Unknown::Omitted), Reading::Integer),
            _ => Reading::Unknown(Unknown::Omitted),
        }
    }
}

/// What it comes to that a page did not come.
pub fn missing(kind: PageKind, reads: &Reads, reason: Unknown, why: String) -> Outcome {
    let readings = match kind {
        PageKind::Http => {
            named(reads, |name| if name == "up" { Reading::Integer(0) } else { Reading::Unknown(reason) })
        }
        PageKind::Json | PageKind::Prometheus => unknown(reads, reason),
    };
    Outcome::Said { readings, started: None, fault: Some(why) }
}

#[cfg(test)]
mod tests {
    use super::super::target::Check;
    use super::*;
    use std::time::Duration;

    fn said(kind: PageKind, names: &[&str], status: u16, body: &str) -> (Vec<Reading>, Option<String>) {
        let check = Check::Page { kind, url: String::new(), timeout: Duration::from_secs(1) };
        let reads = check.reads(names.iter().map(|name| vec![(*name).to_owned()]).collect()).unwrap();
        let page = Page { status, total_ns: 1_500_000_000, body: body.into(), ..Page::default() };
        match page.outcome(kind, &reads) {
            Outcome::Said { readings, fault, .. } => (readings, fault),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn pages_are_read_as_what_they_are() {
        let whole = ["up", "status", "time-total", "octets", "certificate-left"];
        let (readings, fault) = said(PageKind::Http, &whole, 503, "abc");
        let [left, integers] = [Reading::Unknown(Unknown::Omitted), Reading::Real(1.5)];
        assert_eq!(readings, [Reading::Integer(0), Reading::Integer(503), integers, Reading::Integer(3), left]);
        assert_eq!(fault.as_deref(), Some("status 503"));
        assert_eq!(said(PageKind::Json, &["/a/0"], 200, "{\"a\":[7]}"), (vec![Reading::Integer(7)], None));
        let (readings, fault) = said(PageKind::Json, &["/a"], 200, "<html>");
        assert_eq!(readings, [Reading::Unknown(Unknown::Malformed)]);
        assert!(fault.unwrap().starts_with("no JSON"));
        assert_eq!(said(PageKind::Json, &["/a"], 404, "{\"a\":7}").0, [Reading::Unknown(Unknown::AgentError)]);
        assert_eq!(said(PageKind::Prometheus, &["up"], 200, "up 1\n"), (vec![Reading::Gauge(1)], None));
        let (readings, fault) = said(PageKind::Prometheus, &["up"], 200, "<html>\n");
        assert_eq!((readings, fault.is_some()), (vec![Reading::Unknown(Unknown::Malformed)], true));
    }
}
