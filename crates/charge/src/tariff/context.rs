//! What a rule is chosen by.

use super::{Match, Plan};
use crate::calendar::Days;
use serde::{Deserialize, Serialize};

/// A network: country and network code (MCC, MNC), of five or six digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Plmn(pub u32);

impl Plmn {
    /// Reads `20801` or `310410`; 001-01 and 001-001 are two networks.
    pub fn read(digits: &str) -> Option<Plmn> {
        let whole = matches!(digits.len(), 5 | 6) && digits.bytes().all(|octet| octet.is_ascii_digit());
        let number: u32 = whole.then(|| digits.parse().ok()).flatten()?;
        Some(Plmn(number + if digits.len() == 6 { 1_000_000 } else { 0 }))
    }
}

/// What is known of a service when it is rated. What is not known fits no rule that asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context<'a> {
    /// Rating-Group.
    pub rating_group: Option<u32>,
    /// Service-Identifier.
    pub service: Option<u32>,
    /// The access point, with its operator identifier or without; capitals do not matter.
    pub apn: &'a str,
    /// The network that serves.
    pub network: Option<Plmn>,
    /// Radio access technology.
    pub rat: Option<u32>,
    /// The number that is called, digits of the international form.
    pub destination: &'a str,
}

/// What a context is in the words of a plan: looked up once for all rules.
pub(super) struct Facts {
    /// Sets that hold the network.
    networks: Vec<u16>,
    destination: Option<u16>,
}

impl Plan {
    pub(super) fn facts(&self, context: &Context<'_>) -> Facts {
        let sets = self.networks.iter().enumerate();
        let holds = |plmns: &[Plmn]| context.network.is_some_and(|network| plmns.contains(&network));
        Facts {
            networks: sets.filter(|(_, (_, plmns))| holds(plmns)).map(|(at, _)| at as u16).collect(),
            destination: self.destinations.longest(context.destination),
        }
    }
}

impl Match {
    /// Whether a rule holds on such a day, at that second of it.
    pub(super) fn fits(&self, context: &Context<'_>, facts: &Facts, day: Days, second: u32) -> bool {
        let listed = |list: &[u32], value: Option<u32>| list.is_empty() || value.is_some_and(|v| list.contains(&v));
        listed(&self.rating_groups, context.rating_group)
            && listed(&self.services, context.service)
            && listed(&self.rats, context.rat)
            && self.days.meets(day)
            && (self.times.is_empty() || self.times.iter().any(|window| holds(*window, second)))
            && (self.apns.is_empty() || self.apns.iter().any(|apn| is_apn(apn, context.apn)))
            && (self.networks.is_empty() || self.networks.iter().any(|set| in_network(*set, context, facts)))
            && (self.destinations.is_empty() || facts.destination.is_some_and(|d| self.destinations.contains(&d)))
    }
}

fn in_network(set: Option<u16>, context: &Context<'_>, facts: &Facts) -> bool {
    match set {
        Some(set) => facts.networks.contains(&set),
        None => context.network.is_some() && facts.networks.is_empty(),
    }
}

fn holds((begin, end): (u32, u32), second: u32) -> bool {
    if begin < end { (begin..end).contains(&second) } else { second >= begin || second < end }
}

/// Whether it is that access point: the operator identifier (`.mnc001.mcc208.gprs`, TS 23.003 section 9.1) is left
/// out.
fn is_apn(name: &str, told: &str) -> bool {
    let same = |part: &str| part.eq_ignore_ascii_case(name);
    if same(told) {
        return true;
    }
    let cut = told.len().checked_sub(".mnc001.mcc208.gprs".len());
    let operator = cut.and_then(|cut| Some((told.get(..cut)?, told.get(cut..)?)));
    operator.is_some_and(|(network, operator)| {
        same(network) && operator.get(..4).is_some_and(|begin| begin.eq_ignore_ascii_case(".mnc"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_points_with_and_without_their_operator() {
        for told in ["internet", "INTERNET", "Internet.mnc001.mcc208.gprs", "internet.MNC001.MCC208.GPRS"] {
            assert!(is_apn("internet", told), "{told}");
        }
        for told in ["", "internet2", "internet.example", "mnc001.mcc208.gprs", "ünternet.mnc001.mcc208.gprs"] {
            assert!(!is_apn("internet", told), "{told}");
        }
    }

    #[test]
    fn networks_of_five_and_six_digits_differ() {
        assert_eq!(Plmn::read("20801"), Some(Plmn(20_801)));
        assert_ne!(Plmn::read("001010"), Plmn::read("00101"));
        assert_eq!((Plmn::read("2080"), Plmn::read("20 801"), Plmn::read("2080111")), (None, None, None));
    }

    #[test]
    fn windows_may_go_over_midnight() {
        assert!(holds((79_200, 21_600), 0) && holds((79_200, 21_600), 79_200) && !holds((79_200, 21_600), 21_600));
        assert!(holds((28_800, 64_800), 28_800) && !holds((28_800, 64_800), 64_800));
    }
}
