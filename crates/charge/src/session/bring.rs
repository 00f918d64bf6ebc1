//! Subscribers that a directory brings.

use super::Core;
use super::grant::plan_code;
use super::operate::{NUMBER_MAX, Refused};
use super::request::{IDENTITIES_MAX, TEXT_OCTETS_MAX};
use crate::account::{Effect, Entry, Identity};
use crate::calendar::Moment;
use crate::money::{MONEY_MAX, Money};
use crate::profile::Known;
use crate::tariff::Code;

impl Core {
    /// Has the ledger know what a directory says of a subscriber, in one entry: none if it knows. What cannot change
    /// now stays as it was and is tried again when the subscriber comes again: a credit limit that reservations need,
    /// the account of a subscriber with open sessions.
    ///
    /// # Errors
    /// There is no such plan, or none is named for a new account; there are too many identities.
    pub fn bring(&mut self, known: &Known, now: Moment) -> Result<Option<Entry>, Refused> {
        let long = known.identities.iter().any(|identity| identity.text.len() > TEXT_OCTETS_MAX);
        let credit = known.credit.is_some_and(|credit| !(0..=MONEY_MAX).contains(&credit.0));
        let high = known.account > NUMBER_MAX || known.subscriber.is_some_and(|number| number > NUMBER_MAX);
        if long || credit || high || known.identities.len() > IDENTITIES_MAX {
            return Err(Refused::TooMuch);
        }
        let mut effects = Vec::new();
        effects.extend(self.account_brought(known)?);
        self.subscriber_brought(known, &mut effects);
        Ok((!effects.is_empty()).then(|| self.write(effects, now)))
    }

    fn account_brought(&self, known: &Known) -> Result<Option<Effect>, Refused> {
        let there = self.state.account(known.account);
        let held = |code: &Code| self.plans.contains_key(code);
        let plan = match &known.plan {
            Some(name) => Some(plan_code(name)).filter(held).ok_or(Refused::NoPlan)?,
            None => there.ok_or(Refused::NoPlan)?.plan,
        };
        let before = there.map_or(Money::ZERO, |there| there.credit);
        let pays = |credit: &Money| there.is_none_or(|there| there.balance.plus(*credit) >= there.reserved);
        let credit = known.credit.filter(pays).unwrap_or(before);
        let same = there.is_some_and(|there| there.plan == plan && there.credit == credit);
        Ok((!same).then_some(Effect::Account { account: known.account, plan, credit }))
    }

    fn subscriber_brought(&self, known: &Known, effects: &mut Vec<Effect>) {
        let subscribers = &self.state.subscribers;
        let mut owners: Vec<u64> = known.identities.iter().filter_map(|one| subscribers.find(one)).collect();
        owners.sort_unstable();
        owners.dedup();
        let pays = |owner: &&u64| subscribers.get(**owner).is_some_and(|one| one.account == known.account);
        let number = known.subscriber.or_else(|| owners.iter().find(pays).copied());
        let number = number.unwrap_or_else(|| subscribers.next());
        let before = subscribers.get(number);
        if before.is_some_and(|before| before.account == known.account && *before.identities == *known.identities) {
            return;
        }
        let stays = |account: u64| account != known.account && self.has_session(account, number);
        if before.is_some_and(|before| stays(before.account)) {
            return;
        }
        for owner in owners.into_iter().filter(|owner| *owner != number) {
            effects.extend(self.taken_away(owner, &known.identities));
        }
        let identities = known.identities.clone();
        effects.push(Effect::Subscriber { subscriber: number, account: known.account, identities });
    }

    /// A subscriber without what is another's now.
    fn taken_away(&self, subscriber: u64, taken: &[Identity]) -> Option<Effect> {
        let before = self.state.subscribers.get(subscriber)?;
        let identities = before.identities.iter().filter(|one| !taken.contains(one)).cloned().collect();
        Some(Effect::Subscriber { subscriber, account: before.account, identities })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::IdentityKind;
    use crate::session::Limits;

    const PLAN: &str = "[plan]\nname = \"a\"\ncurrency = \"EUR\"\ntime-zone = \"UTC\"\n[[version]]\nfrom = \"2020-01-01\"\n\
        [[version.rule]]\nname = \"data\"\nstep = \"1 KiB\"\nprice = 1\n";

    fn core() -> Core {
        let mut core = Core::new(Limits::default());
        core.set_plan(PLAN, 1).expect("a plan");
        core
    }

    fn e164(text: &str) -> Identity {
        Identity::new(IdentityKind::E164, text)
    }

    fn known(account: u64, identities: &[&str]) -> Known {
        let identities = identities.iter().map(|text| e164(text)).collect();
        Known { account, subscriber: None, plan: Some("a".to_owned()), credit: Some(Money(5)), identities }
    }

    #[test]
    fn news_is_one_entry_and_what_is_known_none() {
        let mut core = core();
        let entry = core.bring(&known(1, &["441"]), 2).expect("brought").expect("it is news");
        assert_eq!(entry.effects.len(), 2);
        assert_eq!(core.bring(&known(1, &["441"]), 3), Ok(None));
        let (first, _) = core.subscriber_of(&e164("441")).expect("it is known");
        // Another name of his, and another subscriber of the same account.
        core.bring(&known(1, &["441", "442"]), 4).expect("brought").expect("it is news");
        assert_eq!(core.subscriber_of(&e164("442")), Some((first, 1)));
        core.bring(&known(1, &["443"]), 5).expect("brought").expect("it is news");
        assert_ne!(core.subscriber_of(&e164("443")), Some((first, 1)));
        // Without a plan and a limit those of the account stay.
        assert_eq!(core.bring(&Known { plan: None, credit: None, ..known(1, &["443"]) }, 6), Ok(None));
    }

    #[test]
    fn a_number_that_is_given_to_somebody_else_leaves_its_owner() {
        let mut core = core();
        core.bring(&known(1, &["441", "442"]), 2).expect("brought");
        core.bring(&known(2, &["442"]), 3).expect("brought");
        let (first, second) = (core.subscriber_of(&e164("441")), core.subscriber_of(&e164("442")));
        assert!(first.is_some_and(|(_, account)| account == 1) && second.is_some_and(|(_, account)| account == 2));
        assert_eq!(core.subscriber(first.expect("known").0), Some((1, &[e164("441")][..])));
        // A directory that gives numbers.
        core.bring(&Known { subscriber: Some(77), ..known(3, &["441"]) }, 4).expect("brought");
        assert_eq!(core.subscriber_of(&e164("441")), Some((77, 3)));
    }

    #[test]
    fn what_makes_no_account_is_refused_and_changes_nothing() {
        let mut core = core();
        let before = core.state().sequence();
        let other = Known { plan: Some("b".to_owned()), ..known(1, &["441"]) };
        assert_eq!(core.bring(&other, 2), Err(Refused::NoPlan));
        assert_eq!(core.bring(&Known { plan: None, ..known(1, &["441"]) }, 2), Err(Refused::NoPlan));
        assert_eq!(core.bring(&known(1, &["1", "2", "3", "4", "5", "6", "7", "8", "9"]), 2), Err(Refused::TooMuch));
        assert_eq!(core.state().sequence(), before);
    }
}
