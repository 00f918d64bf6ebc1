//! Tariff plans: what a plan's file says, checked, and which rule of it holds.
//!
//! A plan has versions, each valid from a moment until the next begins; a version has rules. The first rule that fits a
//! [`Context`] at a moment holds. A rule is priced, free (credit control does not apply), or blocked.

mod context;
mod prefixes;
mod read;
mod settings;

pub use context::{Context, Plmn};
pub use prefixes::{PREFIX_DIGITS_MAX, PREFIXES_MAX, Prefixes};
pub use read::{NAME_OCTETS_MAX, PLAN_OCTETS_MAX, read};
pub use settings::{AllowanceSection, CapSection, FinalAction, Outcome, PlanSection, Rounding, RuleSection, Then};

use crate::calendar::{Calendar, Days, Local, Moment, Period};
use crate::money::{Money, Price};
use crate::units::Unit;

/// Versions of a plan.
// Limit: versions of a plan
// Beyond: the plan is refused
// Seen in: the error message
pub const VERSIONS_MAX: usize = 100;
/// Rules of a version.
// Limit: rules of one version
// Beyond: the plan is refused
// Seen in: the error message
pub const RULES_MAX: usize = 1000;
/// Tiers of a rule.
// Limit: tiers of one rule
// Beyond: the plan is refused
// Seen in: the error message
pub const TIERS_MAX: usize = 16;
/// Allowances that a rule names.
pub const RULE_ALLOWANCES_MAX: usize = 8;
/// Caps that a rule names.
pub const RULE_CAPS_MAX: usize = 4;
/// Allowances, caps, sets of networks, tables of destinations of a plan, each.
pub const NAMES_MAX: usize = 256;
/// Holidays of a plan.
pub const HOLIDAYS_MAX: usize = 256;

/// The name of an allowance, a cap or a counter in the ledger: made of its name in the file, so that it stays when
/// the file is written anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Code(pub u32);

impl Code {
    /// FNV-1a of kind and name, 32 bits; a plan whose allowances and caps meet in one is refused.
    pub fn of(kind: &str, name: &str) -> Code {
        let octets = kind.bytes().chain([b' ']).chain(name.bytes());
        Code(octets.fold(0x811c_9dc5, |hash, octet| (hash ^ u32::from(octet)).wrapping_mul(0x0100_0193)))
    }
}

/// A plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// The currency, three letters (ISO 4217).
    pub currency: String,
    /// Time zone, weekend, holidays.
    pub calendar: Calendar,
    /// The part of what is free in an account that one grant reserves at most, percent.
    pub share: u32,
    /// Sets of networks by name.
    pub networks: Vec<(String, Vec<Plmn>)>,
    /// Destinations by their digits, and the names of their tables.
    pub destinations: Prefixes,
    /// Bundles.
    pub allowances: Vec<Allowance>,
    /// Limits of what is spent.
    pub caps: Vec<Cap>,
    /// By when they begin, ascending.
    pub versions: Vec<Version>,
}

/// A bundle of units.
#[derive(Clone, Debug, PartialEq)]
pub struct Allowance {
    /// Its name.
    pub name: String,
    /// Its name in the ledger.
    pub code: Code,
    /// What its units are.
    pub unit: Unit,
    /// How many there are in a period, or each time it is bought.
    pub amount: u64,
    /// Those of a smaller number are used first.
    pub priority: u32,
    /// When it comes again; none is bought once.
    pub period: Option<Period>,
    /// How long it lasts after it was bought, seconds; of those that come again, until the period's end.
    pub lasts: Option<i64>,
    /// What at most is taken over into the next period.
    pub roll_over: u64,
}

/// A limit of what is spent in a period.
#[derive(Clone, Debug, PartialEq)]
pub struct Cap {
    /// Its name.
    pub name: String,
    /// Its name in the ledger.
    pub code: Code,
    /// The period.
    pub period: Period,
    /// The most that is charged in it.
    pub limit: Money,
    /// What comes then.
    pub then: Then,
}

/// Rules that hold from a moment on.
#[derive(Clone, Debug)]
pub struct Version {
    /// Since when.
    pub from: Moment,
    /// The first that fits holds.
    pub rules: Vec<Rule>,
    /// Whether any of them asks for the day or the time.
    pub timed: bool,
}

/// What a rule asks for. An empty list asks for nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// Rating groups.
    pub rating_groups: Vec<u32>,
    /// Service identifiers.
    pub services: Vec<u32>,
    /// Access points, network identifier only, small letters.
    pub apns: Vec<String>,
    /// Sets of networks, by their place in the plan; none is every network that no set names.
    pub networks: Vec<Option<u16>>,
    /// Radio access technologies (TS 29.061 section 16.4.7.2: 1 UTRAN, 2 GERAN, 3 WLAN, 6 EUTRAN, 10 NR).
    pub rats: Vec<u32>,
    /// Tables of destinations, by their place in the plan.
    pub destinations: Vec<u16>,
    /// Days.
    pub days: Days,
    /// Times of the day: first second, and the one after the last; may go over midnight.
    pub times: Vec<(u32, u32)>,
}

/// A price from so many units in the counter's period on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tier {
    /// Units of the counter.
    pub from: u64,
    /// The price of a step.
    pub price: Price,
}

/// A rule: what it asks for and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// What it asks for.
    pub matches: Match,
    /// Priced, free or blocked.
    pub outcome: Outcome,
    /// What it counts.
    pub unit: Unit,
    /// Units of the first step of a session, a multiple of `next`.
    pub first: u64,
    /// Units of a step.
    pub next: u64,
    /// Prices of a step, by the counter; the first begins at zero.
    pub tiers: Vec<Tier>,
    /// What tiers are chosen by, and its period.
    pub counter: Option<(Code, Period)>,
    /// Due once a session, with the first step that money pays, millionths.
    pub set_up: i64,
    /// What a session costs at least if money pays any step of it, millionths.
    pub minimum: i64,
    /// Steps that begin within so many units of a session cost nothing.
    pub free: u64,
    /// Where money and steps are rounded up.
    pub rounding: Rounding,
    /// Bundles that pay for it, by their place in the plan, those that are used first before.
    pub allowances: Vec<u16>,
    /// Caps that it counts for, by their place in the plan.
    pub caps: Vec<u16>,
    /// How it is granted.
    pub grant: Granting,
}

/// How units are granted.
#[derive(Clone, Debug, PartialEq)]
pub struct Granting {
    /// The most units of a grant.
    pub most: u64,
    /// Units that a grant has at least, where they can be paid at all.
    pub least: u64,
    /// Seconds after which the client asks again (Validity-Time).
    pub validity: u32,
    /// Seconds without traffic after which quota is given back (Quota-Holding-Time); 0 is not told.
    pub holding: u32,
    /// Percent of the grant that is left when the client asks for more; 0 is not told.
    pub threshold: u32,
    /// What the client does when nothing is left.
    pub last: FinalAction,
    /// Where to, if it redirects.
    pub redirect: String,
    /// The credit pool of the session that its grants share (RFC 8506 section 5.1.2); 0 is none.
    pub pool: u32,
}

impl Plan {
    /// The version that holds.
    pub fn version(&self, at: Moment) -> Option<&Version> {
        self.versions[..self.versions.partition_point(|version| version.from <= at)].last()
    }

    /// The rule that holds; none if no version does or no rule fits.
    pub fn rule(&self, context: &Context<'_>, at: Moment) -> Option<&Rule> {
        let version = self.version(at)?;
        let facts = self.facts(context);
        let local = if version.timed { self.calendar.zone.local(at) } else { Local { day: 0, second: 0 } };
        let day = if version.timed { self.calendar.day(local.day) } else { Days::ALL };
        version.rules.iter().find(|rule| rule.matches.fits(context, &facts, day, local.second))
    }

    /// The first moment after `from`, and at most `until`, from which on another rule holds than just before.
    ///
    /// Looks at each moment where a window, a day, an offset or a version begins: a few for each day between.
    pub fn next_change(&self, context: &Context<'_>, from: Moment, until: Moment) -> Option<Moment> {
        let holds = self.rule(context, from);
        let mut at = from;
        while let Some(edge) = self.next_edge(at).filter(|edge| *edge <= until) {
            if !is_same(self.rule(context, edge), holds) {
                return Some(edge);
            }
            at = edge;
        }
        None
    }

    /// The next moment at which any rule may begin or cease to hold.
    fn next_edge(&self, at: Moment) -> Option<Moment> {
        let next_version = self.versions.iter().map(|version| version.from).find(|from| *from > at);
        let Some(version) = self.version(at).filter(|version| version.timed) else { return next_version };
        let zone = &self.calendar.zone;
        let local = zone.local(at);
        let edges = version.rules.iter().flat_map(|rule| &rule.matches.times).flat_map(|(begin, end)| [*begin, *end]);
        let second = edges.filter(|second| *second > local.second).min().unwrap_or(crate::calendar::DAY as u32);
        // Between two changes of the clock, as many seconds pass as the clock shows.
        let shown = at.saturating_add(i64::from(second.saturating_sub(local.second)));
        [next_version, zone.next_change(at), Some(shown)].into_iter().flatten().min()
    }
}

/// Whether two rules are one, or say the same.
fn is_same(a: Option<&Rule>, b: Option<&Rule>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => core::ptr::eq(a, b) || a == b,
        (a, b) => a.is_none() == b.is_none(),
    }
}
