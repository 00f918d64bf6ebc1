//! The keys of a plan's file.

use crate::calendar::Period;
use crate::money::{Money, Price};
use crate::units::{Amount, UNITS_MAX, Unit};
use std::time::Duration;

trunkline_kit::choices! {
    /// What a rule says of a service.
    pub enum Outcome {
        /// It has a price.
        Priced = "priced",
        /// Credit control does not apply (4011).
        Free = "free",
        /// It is denied (4010).
        Blocked = "blocked",
    }
}

trunkline_kit::choices! {
    /// Where steps and money are rounded up.
    pub enum Rounding {
        /// Once for a session: what is left of a step and of a minor unit is taken over to the next report.
        Session = "session",
        /// With each report anew.
        Report = "report",
    }
}

trunkline_kit::choices! {
    /// What comes when a cap is reached.
    pub enum Then {
        /// Nothing more is granted.
        Block = "block",
        /// The service goes on without charge, and the client is told that it is throttled.
        Throttle = "throttle",
    }
}

trunkline_kit::choices! {
    /// What the client does when nothing is left (Final-Unit-Action).
    pub enum FinalAction {
        /// It ends the service.
        Terminate = "terminate",
        /// It leads the subscriber to a page.
        Redirect = "redirect",
        /// It lets through what its own filters name.
        Restrict = "restrict",
    }
}

trunkline_kit::section! {
    /// The plan.
    pub struct PlanSection {
        /// Its name.
        name: String = String::new() => Restart;
        /// The currency, three letters.
        currency: String = "EUR".to_owned() => Restart;
        /// The time zone of days, windows and periods.
        time_zone: String = "UTC".to_owned() => Restart;
        /// Days of the weekend.
        weekend: Vec<String> = vec!["saturday".to_owned(), "sunday".to_owned()] => Restart;
        /// Holidays, as dates: `2026-12-25`.
        holidays: Vec<String> = Vec::new() => Restart;
        /// The part of what is free in an account that one grant reserves at most, percent.
        share: u32 = 50 => Restart, 1 => 100;
    }
}

trunkline_kit::section! {
    /// A bundle of units.
    pub struct AllowanceSection {
        /// What its units are.
        unit: Unit = Unit::Octets => Restart;
        /// How many there are in a period, or each time it is bought.
        amount: Amount = Amount(0) => Restart;
        /// Bundles of a smaller number are used first; among equals, those that are named first.
        priority: u32 = 100 => Restart, 0 => 10_000;
        /// When it comes again: `day`, `week`, `month`.
        period: Option<Period> = None => Restart;
        /// How long one that does not come again lasts after it was bought.
        lasts: Option<Duration> = None => Restart;
        /// What at most is taken over into the next period.
        roll_over: Amount = Amount(0) => Restart;
    }
}

trunkline_kit::section! {
    /// A limit of what is spent in a period.
    pub struct CapSection {
        /// The period.
        period: Period = Period::Month => Restart;
        /// The most that is charged in it, minor units.
        limit: Money = Money(0) => Restart;
        /// What comes then.
        then: Then = Then::Block => Restart;
    }
}

trunkline_kit::section! {
    /// A rule.
    pub struct RuleSection {
        /// Its name.
        name: String = String::new() => Restart;
        /// Rating groups that it is for; none is all, as with the keys below.
        rating_groups: Vec<u32> = Vec::new() => Restart;
        /// Service identifiers.
        services: Vec<u32> = Vec::new() => Restart;
        /// Access points.
        apns: Vec<String> = Vec::new() => Restart;
        /// Sets of networks of [networks]; `other` is what no set names.
        networks: Vec<String> = Vec::new() => Restart;
        /// Radio access technologies, as numbers.
        rats: Vec<u32> = Vec::new() => Restart;
        /// Tables of [destinations]: the one that has the longest prefix of the number.
        destinations: Vec<String> = Vec::new() => Restart;
        /// `weekday`, `weekend`, `holiday`, or names of days. A holiday is no other day.
        days: Vec<String> = Vec::new() => Restart;
        /// Times of the day: `08:00-18:00`, or over midnight, `22:00-06:00`.
        times: Vec<String> = Vec::new() => Restart;
        /// Priced, free or blocked.
        outcome: Outcome = Outcome::Priced => Restart;
        /// What is counted.
        unit: Unit = Unit::Octets => Restart;
        /// Units of a step.
        step: Amount = Amount(1) => Restart, Amount(1) => Amount(UNITS_MAX);
        /// Units of a session's first step, a multiple of `step`; none is as the others.
        first_step: Option<Amount> = None => Restart, Some(Amount(1)) => Some(Amount(UNITS_MAX));
        /// The price of a step, minor units.
        price: Option<Price> = None => Restart;
        /// Prices of a step by the units that were used in the counter's period: `["0: 2", "1 GiB: 0.5"]`.
        tiers: Vec<String> = Vec::new() => Restart;
        /// The counter that tiers go by.
        counter: String = String::new() => Restart;
        /// The counter's period.
        counter_period: Period = Period::Month => Restart;
        /// Due once a session, with the first step that money pays.
        set_up: Price = Price(0) => Restart;
        /// What a session costs at least if money pays any step of it.
        minimum: Price = Price(0) => Restart;
        /// Steps that begin within so many units of a session cost nothing.
        free: Amount = Amount(0) => Restart;
        /// Where steps and money are rounded up: once for a session, or with each report.
        rounding: Rounding = Rounding::Session => Restart;
        /// Bundles that pay for it.
        allowances: Vec<String> = Vec::new() => Restart;
        /// Caps that it counts for.
        caps: Vec<String> = Vec::new() => Restart;
        /// The most units of a grant; none is what an hour, ten mebi-octets or one unit is.
        tranche: Option<Amount> = None => Restart, Some(Amount(1)) => Some(Amount(UNITS_MAX));
        /// Units that a grant has at least, where they can be paid at all.
        tranche_least: Amount = Amount(1) => Restart, Amount(1) => Amount(UNITS_MAX);
        /// How long a grant is valid.
        validity: Duration = Duration::from_secs(3600) => Restart,
            Duration::from_secs(1) => Duration::from_secs(604_800);
        /// Without traffic for so long, quota is given back; 0 is not told.
        holding: Duration = Duration::ZERO => Restart, Duration::ZERO => Duration::from_secs(604_800);
        /// Percent of a grant that is left when the client asks for more; 0 is not told.
        threshold: u32 = 0 => Restart, 0 => 99;
        /// What the client does when nothing is left.
        last: FinalAction = FinalAction::Terminate => Restart;
        /// Where `redirect` leads to, a URL.
        redirect: String = String::new() => Restart;
        /// The credit pool of the session that its grants share; 0 is none.
        pool: u32 = 0 => Restart;
    }
}
