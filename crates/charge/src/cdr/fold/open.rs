//! A record that is open, as it is kept.

use super::{Source, Usage};
use crate::account::{Octets, fields};
use crate::calendar::Moment;
use crate::money::Money;
use crate::units::Amounts;

/// An open record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// Where its session began; none where that was before the first entry there is. The first field: it is looked for
    /// without the others.
    pub opened: Option<Source>,
    pub moved: Option<Source>,
    pub began: Moment,
    /// Records of the session that ended before it.
    pub records: u32,
    /// Whether the operator wants the session to end.
    pub aborted: bool,
    pub refunded: Money,
    pub services: Vec<Usage>,
}

fields! {
    Open { opened, moved, began, records, aborted, refunded, services }
}

impl Open {
    /// That of a session that begins there.
    pub fn new(source: Source, began: Moment) -> Open {
        Open { opened: Some(source), began, ..Open::default() }
    }

    /// That of a session that began before the first entry there is.
    pub fn unknown(began: Moment) -> Open {
        Open { began, ..Open::default() }
    }

    /// Where a session began, of the octets of its open record.
    pub fn source(mut octets: &[u8]) -> Option<Source> {
        Octets::take(&mut octets).flatten()
    }

    /// Its octets, and no memory beyond them.
    pub fn octets(&self) -> Box<[u8]> {
        let mut out = Vec::with_capacity(96);
        self.put(&mut out);
        out.into()
    }

    /// Adds what was used of a service.
    pub fn add(&mut self, usage: &Usage) {
        let known = self.services.iter_mut().find(|known| known.key == usage.key && known.rated == usage.rated);
        let Some(known) = known else {
            self.services.push(*usage);
            return;
        };
        known.used = sum(&known.used, &usage.used);
        known.money = known.money.plus(usage.money);
        known.short = known.short.plus(usage.short);
        known.taken = known.taken.saturating_add(usage.taken);
        known.last = usage.last;
    }
}

fn sum(a: &Amounts, b: &Amounts) -> Amounts {
    Amounts {
        octets: a.octets.saturating_add(b.octets),
        octets_in: a.octets_in.saturating_add(b.octets_in),
        octets_out: a.octets_out.saturating_add(b.octets_out),
        seconds: a.seconds.saturating_add(b.seconds),
        service_units: a.service_units.saturating_add(b.service_units),
    }
}
