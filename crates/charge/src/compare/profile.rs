//! How a carrier writes its bills: the file that `--profile` names, with all its mistakes at once.

use crate::calendar::Zone;
use crate::numbers::Numbers;
use crate::units::Amount;
use toml::de::{DeTable, DeValue};
use trunkline_kit::config::{self, Mistake, Section, Sheet, sheet};
use trunkline_kit::nearest::suggestion;

/// The longest file of a profile, octets.
pub const PROFILE_OCTETS_MAX: usize = 1 << 16;
const SECTIONS: [&str; 2] = ["numbers", "bill"];

trunkline_kit::choices! {
    /// What lengths are written in.
    pub enum DurationUnit {
        /// Seconds, with a fraction or without; or a clock, `1:02:03`.
        Seconds = "seconds",
        /// Minutes, with a fraction or without; or a clock.
        Minutes = "minutes",
        /// Milliseconds.
        Milliseconds = "milliseconds",
    }
}

trunkline_kit::choices! {
    /// What amounts are written in.
    pub enum AmountUnit {
        /// The currency's unit: euros.
        Major = "major",
        /// Its minor unit: cents.
        Minor = "minor",
    }
}

trunkline_kit::choices! {
    /// What comes first in a date that does not begin with the year.
    pub enum DateOrder {
        /// The day.
        DayFirst = "day-first",
        /// The month.
        MonthFirst = "month-first",
    }
}

trunkline_kit::section! {
    /// The columns of a bill, by their titles, and how they are written.
    pub struct BillSection {
        /// Who called.
        caller: String = "caller".to_owned() => Restart;
        /// Who was called.
        called: String = "called".to_owned() => Restart;
        /// When it began.
        begin: String = "begin".to_owned() => Restart;
        /// How long it was.
        duration: String = "duration".to_owned() => Restart;
        /// What is asked for it; "" where the bill has no such column.
        amount: String = "amount".to_owned() => Restart;
        /// The Call-ID; "" where the bill has no such column.
        reference: String = String::new() => Restart;
        /// What stands between the columns.
        separator: String = ",".to_owned() => Restart;
        /// The time zone of begins without an offset.
        time_zone: String = "UTC".to_owned() => Restart;
        /// What comes first in a date that does not begin with the year: "day-first" or "month-first".
        date_order: DateOrder = DateOrder::DayFirst => Restart;
        /// What lengths are written in: "seconds", "minutes" or "milliseconds".
        duration_unit: DurationUnit = DurationUnit::Seconds => Restart;
        /// What amounts are written in: "major" (euros) or "minor" (cents).
        amount_unit: AmountUnit = AmountUnit::Major => Restart;
        /// The mark before a fraction: "," or "."; the other one may part thousands. "": either, and nothing parts.
        decimal: String = String::new() => Restart;
        /// Digits of the minor unit: 100 cents are a euro.
        minor_digits: u32 = 2 => Restart, 0 => 4;
        /// The first step that is billed.
        first_step: Amount = Amount(1) => Restart, Amount(1) => Amount(3600);
        /// The steps after it.
        step: Amount = Amount(1) => Restart, Amount(1) => Amount(3600);
    }
}

/// How numbers and bills are written.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Numbers, of the bill and of the wire.
    pub numbers: Numbers,
    /// The bill.
    pub bill: BillSection,
    /// Its time zone.
    pub zone: Zone,
    /// Whether the profile names the column of amounts: it has to be there.
    pub names_amount: bool,
}

impl Default for Profile {
    fn default() -> Profile {
        let zone = Zone::named("UTC").unwrap_or_else(|_| unreachable!("UTC comes with the program"));
        Profile { numbers: Numbers::default(), bill: BillSection::default(), zone, names_amount: false }
    }
}

/// Reads the file that is named `path` when mistakes are told.
///
/// # Errors
/// All mistakes, in the order of the file.
pub fn read(path: &str, text: &str) -> Result<Profile, Vec<Mistake>> {
    sheet(path, text, PROFILE_OCTETS_MAX, profile)?.ok_or_else(Vec::new)
}

fn profile(sheet: &mut Sheet<'_>, table: &DeTable<'_>) -> Option<Profile> {
    for (key, _) in table.iter().filter(|(key, _)| !SECTIONS.contains(&key.get_ref().as_ref())) {
        let hint = suggestion(key.get_ref(), SECTIONS.into_iter());
        sheet.wrong(key.span().start, format!("unknown section [{}]{hint}", key.get_ref()));
    }
    let (mut numbers, mut bill) = (Numbers::default(), BillSection::default());
    let of_numbers = section(sheet, table, "numbers", &mut numbers);
    let of_bill = section(sheet, table, "bill", &mut bill);
    let place =
        |keys: &[(String, usize)], key: &str| keys.iter().find(|(name, _)| name == key).map_or(0, |(_, at)| *at);
    for (key, what) in numbers.mistakes() {
        sheet.wrong(place(&of_numbers, key), what);
    }
    for (key, what) in bill.mistakes() {
        sheet.wrong(place(&of_bill, key), what);
    }
    match Zone::named(&bill.time_zone) {
        Ok(zone) => {
            let names_amount = of_bill.iter().any(|(key, _)| key == "amount");
            Some(Profile { numbers, bill, zone, names_amount })
        }
        Err(what) => {
            sheet.wrong(place(&of_bill, "time-zone"), what);
            None
        }
    }
}

/// Sets a section's keys; where the value of each stands.
fn section(sheet: &mut Sheet<'_>, table: &DeTable<'_>, name: &str, section: &mut dyn Section) -> Vec<(String, usize)> {
    let found = table.iter().find(|(key, _)| key.get_ref().as_ref() == name);
    match found.map(|(key, value)| (key.span().start, value.get_ref())) {
        Some((_, DeValue::Table(inner))) => sheet.section(name, inner, section, config::raw),
        Some((at, _)) => {
            sheet.wrong(at, format!("'{name}' is a section: [{name}]"));
            Vec::new()
        }
        None => Vec::new(),
    }
}

impl BillSection {
    fn mistakes(&self) -> Vec<(&'static str, String)> {
        let needed =
            [("caller", &self.caller), ("called", &self.called), ("begin", &self.begin), ("duration", &self.duration)];
        let empty = needed.into_iter().filter(|(_, title)| title.trim().is_empty());
        let mut wrong: Vec<(&'static str, String)> =
            empty.map(|(key, _)| (key, format!("{key}: the title of that column"))).collect();
        if self.separator.len() != 1 || matches!(self.separator.as_str(), "\"" | "\n" | "\r") {
            wrong.push(("separator", "separator: one character, such as \",\", \";\" or \"\\t\"".to_owned()));
        }
        if !["", ",", "."].contains(&self.decimal.as_str()) {
            wrong.push(("decimal", "decimal: \",\", \".\" or \"\"".to_owned()));
        }
        if !self.first_step.0.is_multiple_of(self.step.0) {
            wrong.push(("first-step", "first-step: a multiple of step".to_owned()));
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_mistakes_of_a_profile_are_told_with_their_lines() {
        let text = "[numbers]\ncountry = \"x\"\n[bil]\n[bill]\nbegn = \"b\"\nseparator = \"\"\ntime-zone = \"Mars\"\n";
        let wrong = read("carrier.toml", text).expect_err("mistakes");
        let told: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 5, "{told:?}");
        assert!(told[0].contains("carrier.toml:2") && told[2].contains("'begn'"), "{told:?}");
        let sound =
            read("p", "[bill]\ncaller = \"A\"\nfirst-step = 60\n[numbers]\nbare = \"international\"\n").expect("sound");
        assert_eq!((sound.bill.caller.as_str(), sound.bill.first_step, sound.bill.step), ("A", Amount(60), Amount(1)));
    }
}
