//! Lines and events of the ledger as the web tells them.

use std::collections::{BTreeMap, HashMap};
use trunkline_charge::account::{Cause, Effect, MoneyReason, Octets, Place, UnitsReason};
use trunkline_charge::ledger::{Happened, Line, Tried};
use trunkline_charge::session::{AccountTried, Answer, GroupTried, code};
use trunkline_charge::tariff::{Code, Plan};
use trunkline_charge::units::Unit;
use trunkline_store::time::rfc3339;
use trunkline_web::sources::{ChargeDay, ChargeEvent, ChargeLine, ChargeTried, ChargeTriedAccount, ChargeTriedGroup};

/// What codes are called.
#[derive(Debug, Default)]
pub struct Names {
    rules: HashMap<Code, String>,
    allowances: HashMap<Code, (String, Unit)>,
}

impl Names {
    /// In this plan.
    pub fn of(plan: &Plan) -> Names {
        let rules = plan.versions.iter().flat_map(|version| &version.rules);
        let allowances = plan.allowances.iter();
        Names {
            rules: rules.map(|rule| (Code::of("rule", &rule.name), rule.name.clone())).collect(),
            allowances: allowances.map(|known| (known.code, (known.name.clone(), known.unit))).collect(),
        }
    }
}

fn word(unit: Unit) -> String {
    Unit::ALL.iter().find(|(known, _)| *known == unit).map_or("", |(_, word)| word).to_owned()
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

/// A line of an account.
pub fn line(line: &Line, names: &Names) -> ChargeLine {
    let Line { sequence, at, amount, balance, .. } = *line;
    let mut told = ChargeLine { sequence, at, amount: amount.0, balance: balance.0, ..ChargeLine::default() };
    match &line.effect {
        Effect::Money { reason, note, .. } => {
            told.note = some(note);
            told.kind = match reason {
                MoneyReason::TopUp => "top-up",
                MoneyReason::Refund => "refund",
                MoneyReason::Adjustment => "adjustment",
            }
            .to_owned();
        }
        Effect::Refunded { refund, .. } => {
            told.kind = "refund".to_owned();
            (told.rating_group, told.service) = (refund.service.rating_group, refund.service.service);
            told.units = i64::try_from(refund.units).ok();
            let to = refund.taken.first().and_then(|(code, _)| names.allowances.get(code));
            (told.allowance, told.unit) = (to.map(|(name, _)| name.clone()), to.map(|(_, unit)| word(*unit)));
            told.note = Some(format!("debited since entry {}", refund.debit));
        }
        Effect::Units { allowance, reason, amount, ends, .. } => {
            let known = names.allowances.get(allowance);
            (told.allowance, told.unit) = (known.map(|(name, _)| name.clone()), known.map(|(_, unit)| word(*unit)));
            (told.units, told.ends) = (Some(*amount), Some(*ends));
            told.kind = match reason {
                UnitsReason::Bought => "bought",
                UnitsReason::Renewed => "renewed",
                UnitsReason::Expired => "expired",
                UnitsReason::Adjustment => "units-adjusted",
            }
            .to_owned();
        }
        Effect::Charged { charge, .. } => {
            told.kind = "charge".to_owned();
            (told.rating_group, told.service) = (charge.service.rating_group, charge.service.service);
            (told.unit, told.units) = (Some(word(charge.unit)), i64::try_from(charge.units).ok());
            (told.rule, told.short) = (names.rules.get(&charge.rule).cloned(), charge.short.0);
            let from = charge.taken.first().and_then(|(code, _)| names.allowances.get(code));
            told.allowance = from.map(|(name, _)| name.clone());
        }
        _ => {}
    }
    told
}

/// Usage by day and rating group.
#[derive(Debug, Default)]
pub struct Days(BTreeMap<(i64, Option<u32>, Unit), ChargeDay>);

/// Days, rating groups and units that are told apart.
const DAYS_MAX: usize = 20_000;

impl Days {
    /// A line, if it is a charge.
    pub fn add(&mut self, line: &Line) {
        let Effect::Charged { charge, .. } = &line.effect else { return };
        let key = (line.at.div_euclid(86_400), charge.service.rating_group, charge.unit);
        if self.0.len() >= DAYS_MAX && !self.0.contains_key(&key) {
            return;
        }
        let day = self.0.entry(key).or_insert_with(|| ChargeDay {
            day: rfc3339(key.0.saturating_mul(86_400_000_000_000)).get(..10).unwrap_or_default().to_owned(),
            rating_group: key.1,
            unit: word(key.2),
            ..ChargeDay::default()
        });
        day.units = day.units.saturating_add(charge.units);
        day.money = day.money.saturating_add(charge.money.0);
        day.short = day.short.saturating_add(charge.short.0);
        day.charges += 1;
    }

    /// By day and rating group.
    pub fn told(self) -> Vec<ChargeDay> {
        self.0.into_values().collect()
    }
}

/// What an entry says of a session.
pub fn events(happened: &Happened) -> Vec<ChargeEvent> {
    let base = ChargeEvent { sequence: happened.sequence, at: happened.at, ..ChargeEvent::default() };
    happened.effects.iter().filter_map(|effect| event(effect, base.clone())).collect()
}

fn event(effect: &Effect, mut event: ChargeEvent) -> Option<ChargeEvent> {
    let kind = match effect {
        Effect::Opened { place: at, .. } => {
            (event.place, event.called) = (place(at), some(&at.destination));
            "opened"
        }
        Effect::Moved { place: at, .. } => {
            (event.place, event.called) = (place(at), some(&at.destination));
            "moved"
        }
        Effect::Charged { charge, .. } => {
            (event.rating_group, event.service) = (charge.service.rating_group, charge.service.service);
            (event.unit, event.units) = (Some(word(charge.unit)), Some(charge.units));
            (event.money, event.short) = (Some(charge.money.0), Some(charge.short.0));
            "charged"
        }
        // One without units gives back what was reserved: its charges say so.
        Effect::Granted { service, grant, .. } if grant.units > 0 || grant.last => {
            (event.rating_group, event.service) = (service.rating_group, service.service);
            (event.unit, event.units, event.money) = (Some(word(grant.unit)), Some(grant.units), Some(grant.money.0));
            (event.until, event.last) = (Some(grant.until), Some(grant.last));
            "granted"
        }
        Effect::Answered { kept, .. } => {
            let answer = Answer::take(&mut &*kept.answer)?;
            let service = answer.services.iter().map(|given| given.code).find(|code| *code != code::SUCCESS);
            let result = if answer.code == code::SUCCESS { service.unwrap_or(answer.code) } else { answer.code };
            (event.number, event.result) = (Some(kept.number), Some(result));
            "answered"
        }
        Effect::Aborting { .. } => "aborting",
        Effect::Closed { cause, .. } => {
            let cause = match cause {
                Cause::Terminated => "terminated",
                Cause::Event => "event",
                Cause::Supervision => "supervision",
            };
            event.cause = Some(cause.to_owned());
            "closed"
        }
        Effect::Forgotten { .. } => "forgotten",
        _ => return None,
    };
    event.kind = kind.to_owned();
    Some(event)
}

fn place(place: &Place) -> Option<String> {
    let network = place.network.map(|network| match network.0.checked_sub(1_000_000) {
        Some(six) => format!("{six:06}"),
        None => format!("{:05}", network.0),
    });
    let parts = [some(&place.apn), network];
    some(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// What came of a plan that was tried out.
pub fn tried(tried: Tried) -> ChargeTried {
    let Tried { tryout, entries, first, last } = tried;
    let mut groups: Vec<ChargeTriedGroup> = tryout.groups.iter().map(|(of, tried)| group(*of, tried)).collect();
    let others = ChargeTriedGroup { others: true, ..group(None, &tryout.others) };
    groups.extend(Some(others).filter(|others| others.reports > 0));
    let account = |one: &AccountTried| ChargeTriedAccount { account: one.account, was: one.was.0, would: one.would.0 };
    ChargeTried {
        entries,
        first,
        last,
        all: group(None, &tryout.all),
        groups,
        accounts: tryout.accounts,
        dearer: tryout.dearer,
        cheaper: tryout.cheaper,
        differences: tryout.differences.iter().map(account).collect(),
        ..ChargeTried::default()
    }
}

fn group(rating_group: Option<u32>, tried: &GroupTried) -> ChargeTriedGroup {
    ChargeTriedGroup {
        rating_group,
        others: false,
        reports: tried.reports,
        was: tried.was.0,
        would: tried.would.0,
        was_short: tried.was_short.0,
        would_short: tried.would_short.0,
        would_lack: tried.would_lack,
        was_unrated: tried.was_unrated,
        would_unrated: tried.would_unrated,
    }
}
