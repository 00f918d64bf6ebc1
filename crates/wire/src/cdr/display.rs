//! Records as text for people.

use super::{PgwRecord, ServiceUsage, TrafficVolume, closing};
use core::fmt;

/// `{}`: `PGWRecord pgw1 7: IMSI 234150000000001, 3600 s, up 5, down 6, normalRelease`; `{:#}` adds its containers.
impl fmt::Display for PgwRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PGWRecord {}", self.node_id.unwrap_or("-").escape_debug())?;
        self.local_sequence_number.map_or(Ok(()), |number| write!(f, " {number}"))?;
        write!(f, ": ")?;
        self.imsi.map_or(Ok(()), |imsi| write!(f, "IMSI {imsi}, "))?;
        let (up, down) = self.octets();
        write!(f, "{}, {} s, up {up}, down {down}, ", self.opened, self.duration_s)?;
        match closing::name(self.cause) {
            Some(name) => write!(f, "{name}")?,
            None => write!(f, "closed with {}", self.cause)?,
        }
        if self.retransmission {
            write!(f, ", may be a copy")?;
        }
        if f.alternate() {
            self.traffic_volumes.iter().try_for_each(|volume| write!(f, "\n  {volume}"))?;
            self.service_usage.iter().try_for_each(|usage| write!(f, "\n  {usage}"))?;
        }
        Ok(())
    }
}

impl PgwRecord<'_> {
    /// Octets from and to the subscriber: of rating groups, or of the bearer where none are told apart.
    pub fn octets(&self) -> (u64, u64) {
        let sum = |a: (u64, u64), b: (Option<u64>, Option<u64>)| {
            (a.0.saturating_add(b.0.unwrap_or(0)), a.1.saturating_add(b.1.unwrap_or(0)))
        };
        if self.service_usage.is_empty() {
            return self.traffic_volumes.iter().fold((0, 0), |all, v| sum(all, (v.uplink, v.downlink)));
        }
        self.service_usage.iter().fold((0, 0), |all, u| sum(all, (u.uplink, u.downlink)))
    }
}

impl fmt::Display for TrafficVolume<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (up, down) = (self.uplink.unwrap_or(0), self.downlink.unwrap_or(0));
        write!(f, "until {}: up {up}, down {down}, condition {}", self.time, self.condition)
    }
}

impl fmt::Display for ServiceUsage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (up, down) = (self.uplink.unwrap_or(0), self.downlink.unwrap_or(0));
        write!(f, "rating group {}, reported {}: up {up}, down {down}", self.rating_group, self.reported)?;
        self.time_s.map_or(Ok(()), |seconds| write!(f, ", {seconds} s"))?;
        self.result_code.map_or(Ok(()), |code| write!(f, ", result {code}"))?;
        write!(f, ", conditions {:#x}", self.conditions)
    }
}
