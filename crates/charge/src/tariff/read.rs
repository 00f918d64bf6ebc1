//! The file of a plan: everything that is wrong with it at once, each with its place.

mod rule;
mod words;

use super::settings::{AllowanceSection, CapSection, PlanSection, RuleSection};
use super::{Allowance, Cap, Code, HOLIDAYS_MAX, NAMES_MAX, Plan, Plmn, Prefixes, RULES_MAX, VERSIONS_MAX, Version};
use crate::calendar::{Calendar, Days, Moment, Zone};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};
use trunkline_kit::config::{self, Mistake, Raw, Section, Sheet, sheet};
use trunkline_kit::nearest::suggestion;

/// The longest file of a plan, octets: it is one record of the ledger (1 MiB), with room for what stands beside it.
// Limit: size of a tariff plan
// Beyond: the plan is refused
// Seen in: the error message
pub const PLAN_OCTETS_MAX: usize = (1 << 20) - 1024;
/// Octets of the name of a plan.
pub const NAME_OCTETS_MAX: usize = 256;
const SECTIONS: [&str; 6] = ["plan", "networks", "destinations", "allowance", "cap", "version"];

/// Reads the file that is named `path` when mistakes are told.
///
/// # Errors
/// All mistakes, in the order of the file; at most [`MISTAKES_MAX`](config::MISTAKES_MAX).
pub fn read(path: &str, text: &str) -> Result<Plan, Vec<Mistake>> {
    // A plan that cannot be made has mistakes.
    sheet(path, text, PLAN_OCTETS_MAX, |sheet, table| Reader { sheet }.plan(table))?.ok_or_else(Vec::new)
}

/// Where the value of each key of a section stands.
pub(super) struct Keys {
    at: usize,
    keys: Vec<(String, usize)>,
}

impl Keys {
    fn at(&self, key: &str) -> usize {
        self.keys.iter().find(|(name, _)| name == key).map_or(self.at, |(_, at)| *at)
    }

    fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|(name, _)| name == key)
    }
}

struct Reader<'s, 'a> {
    sheet: &'s mut Sheet<'a>,
}

impl Reader<'_, '_> {
    fn plan(&mut self, table: &DeTable<'_>) -> Option<Plan> {
        for (key, _) in table.iter().filter(|(key, _)| !SECTIONS.contains(&key.get_ref().as_ref())) {
            let hint = suggestion(key.get_ref(), SECTIONS.into_iter());
            self.sheet.wrong(key.span().start, format!("unknown section [{}]{hint}", key.get_ref()));
        }
        let mut section = PlanSection::default();
        let keys = match self.table(table, "plan") {
            Some((at, inner)) => self.section("plan", at, inner, &mut section),
            None => Keys { at: 0, keys: Vec::new() },
        };
        let calendar = self.calendar(&section, &keys);
        let mut plan = Plan {
            networks: self.networks(table),
            destinations: self.destinations(table),
            allowances: self.allowances(table),
            caps: self.caps(table),
            versions: Vec::new(),
            name: section.name,
            currency: section.currency,
            share: section.share,
            calendar: calendar?,
        };
        self.versions(table, &mut plan);
        self.names(&plan, &keys);
        Some(plan)
    }

    /// What the names of a plan must be.
    fn names(&mut self, plan: &Plan, keys: &Keys) {
        if plan.name.is_empty() {
            self.sheet.wrong(keys.at("name"), "[plan] needs a name".to_owned());
        }
        if plan.name.len() > NAME_OCTETS_MAX {
            self.sheet.wrong(keys.at("name"), format!("a name has at most {NAME_OCTETS_MAX} octets"));
        }
        if plan.currency.len() != 3 || !plan.currency.bytes().all(|octet| octet.is_ascii_uppercase()) {
            self.sheet
                .wrong(keys.at("currency"), "currency: three capital letters such as \"EUR\" (ISO 4217)".to_owned());
        }
        let codes = plan.allowances.iter().map(|a| a.code).chain(plan.caps.iter().map(|cap| cap.code));
        let mut codes: Vec<Code> = codes.collect();
        codes.sort_unstable();
        if codes.windows(2).any(|pair| pair[0] == pair[1]) {
            self.sheet
                .wrong(keys.at, "two names of allowances and caps are the same in the ledger: rename one".to_owned());
        }
        let rules = plan.versions.iter().flat_map(|version| &version.rules);
        let mut counters: Vec<_> = rules.filter_map(|rule| rule.counter).map(|(code, p)| (code, p as u8)).collect();
        counters.sort_unstable();
        counters.dedup();
        if counters.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            self.sheet.wrong(keys.at, "a counter has one period in all rules that name it".to_owned());
        }
    }

    fn calendar(&mut self, section: &PlanSection, keys: &Keys) -> Option<Calendar> {
        let weekend = section.weekend.iter().fold(Days(0), |days, name| match words::day(name) {
            Ok(day) => Days(days.0 | day.0),
            Err(what) => {
                self.sheet.wrong(keys.at("weekend"), what);
                days
            }
        });
        let mut holidays = Vec::new();
        for text in &section.holidays {
            match words::date(text) {
                Some(day) => holidays.push(day),
                None => self.sheet.wrong(keys.at("holidays"), format!("'{text}' is no date such as 2026-12-25")),
            }
        }
        if holidays.len() > HOLIDAYS_MAX {
            self.sheet.wrong(keys.at("holidays"), format!("more than {HOLIDAYS_MAX} holidays"));
        }
        holidays.sort_unstable();
        match Zone::named(&section.time_zone) {
            Ok(zone) => Some(Calendar { zone, weekend, holidays }),
            Err(what) => {
                self.sheet.wrong(keys.at("time-zone"), what);
                None
            }
        }
    }

    fn networks(&mut self, table: &DeTable<'_>) -> Vec<(String, Vec<Plmn>)> {
        let mut sets = Vec::new();
        for (name, at, texts) in self.lists(table, "networks") {
            if name == "other" {
                self.sheet.wrong(at, "'other' is what no set names".to_owned());
            }
            let read = |text: &String| Plmn::read(text).ok_or_else(|| format!("'{text}': five or six digits"));
            let plmns =
                texts.iter().filter_map(|text| read(text).map_err(|what| self.sheet.wrong(at, what)).ok()).collect();
            sets.push((name, plmns));
        }
        sets
    }

    fn destinations(&mut self, table: &DeTable<'_>) -> Prefixes {
        let lists = self.lists(table, "destinations");
        let places: Vec<usize> = lists.iter().map(|(_, at, _)| *at).collect();
        let tables = lists.into_iter().map(|(name, _, prefixes)| (name, prefixes)).collect();
        Prefixes::new(tables).unwrap_or_else(|wrong| {
            for (index, what) in wrong {
                self.sheet.wrong(places.get(index).copied().unwrap_or_default(), what);
            }
            Prefixes::default()
        })
    }

    fn allowances(&mut self, table: &DeTable<'_>) -> Vec<Allowance> {
        let mut all = Vec::new();
        for (name, keys, section) in self.named::<AllowanceSection>(table, "allowance") {
            if section.amount.0 == 0 {
                self.sheet.wrong(keys.at("amount"), format!("[allowance.{name}] needs an amount"));
            }
            if section.period.is_some() && section.lasts.is_some() {
                self.sheet.wrong(keys.at("lasts"), "what comes again lasts for its period".to_owned());
            }
            all.push(Allowance {
                code: Code::of("allowance", &name),
                unit: section.unit,
                amount: section.amount.0,
                priority: section.priority,
                period: section.period,
                lasts: section.lasts.map(|time| time.as_secs() as i64),
                roll_over: section.roll_over.0,
                name,
            });
        }
        all
    }

    fn caps(&mut self, table: &DeTable<'_>) -> Vec<Cap> {
        let mut all = Vec::new();
        for (name, keys, section) in self.named::<CapSection>(table, "cap") {
            if !keys.has("limit") {
                self.sheet.wrong(keys.at, format!("[cap.{name}] needs a limit"));
            }
            let code = Code::of("cap", &name);
            all.push(Cap { name, code, period: section.period, limit: section.limit, then: section.then });
        }
        all
    }

    fn versions(&mut self, table: &DeTable<'_>, plan: &mut Plan) {
        let mut versions: Vec<Version> = Vec::new();
        for (at, table) in self.tables(table, "version") {
            let before = versions.last().map(|version| version.from);
            let version = self.version(at, table, plan);
            if before.is_some_and(|before| version.from <= before) {
                self.sheet.wrong(at, "versions stand in the order in which they begin".to_owned());
            }
            versions.push(version);
        }
        match versions.len() {
            0 => self
                .sheet
                .wrong(0, "no version: [[version]] with from = \"2026-01-01\" and [[version.rule]]".to_owned()),
            1..=VERSIONS_MAX => {}
            _ => self.sheet.wrong(0, format!("more than {VERSIONS_MAX} versions")),
        }
        plan.versions = versions;
    }

    fn version(&mut self, at: usize, table: &DeTable<'_>, plan: &Plan) -> Version {
        let from = self.from(at, table, plan);
        let rules: Vec<_> = self.tables(table, "rule").into_iter().take(RULES_MAX + 1).collect();
        if rules.len() > RULES_MAX {
            self.sheet.wrong(at, format!("more than {RULES_MAX} rules"));
        }
        let rules: Vec<_> = rules.into_iter().map(|(at, table)| self.rule(at, table, plan)).collect();
        let timed = |m: &super::Match| m.days != Days::ALL || !m.times.is_empty();
        Version { from, timed: rules.iter().any(|rule| timed(&rule.matches)), rules }
    }

    /// When a version begins.
    fn from(&mut self, at: usize, table: &DeTable<'_>, plan: &Plan) -> Moment {
        let mut from = None;
        for (key, value) in table {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("rule", _) => {}
                ("from", DeValue::String(text)) if words::moment(text, &plan.calendar.zone).is_some() => {
                    from = words::moment(text, &plan.calendar.zone);
                }
                ("from", _) => {
                    from = Some(Moment::MAX);
                    self.sheet.wrong(value.span().start, "from: \"2026-01-01\" or \"2026-01-01 06:00\"".to_owned());
                }
                (name, _) => {
                    let hint = suggestion(name, ["from", "rule"].into_iter());
                    self.sheet.wrong(key.span().start, format!("unknown key '{name}' in [[version]]{hint}"));
                }
            }
        }
        from.unwrap_or_else(|| {
            self.sheet.wrong(at, "[[version]] needs from = \"2026-01-01\"".to_owned());
            Moment::MAX
        })
    }

    fn rule(&mut self, at: usize, table: &DeTable<'_>, plan: &Plan) -> super::Rule {
        let mut section = RuleSection::default();
        let keys = self.section("version.rule", at, table, &mut section);
        let (rule, wrong) = rule::rule(section, &keys, plan);
        for (key, what) in wrong {
            self.sheet.wrong(keys.at(key), what);
        }
        rule
    }

    /// The table of that name.
    fn table<'t>(&mut self, table: &'t DeTable<'_>, name: &str) -> Option<(usize, &'t DeTable<'t>)> {
        let (key, value) = table.iter().find(|(key, _)| key.get_ref().as_ref() == name)?;
        let DeValue::Table(inner) = value.get_ref() else {
            self.sheet.wrong(key.span().start, format!("'{name}' is a section: [{name}]"));
            return None;
        };
        Some((key.span().start, inner))
    }

    /// The tables of an array of tables.
    fn tables<'t>(&mut self, table: &'t DeTable<'_>, name: &str) -> Vec<(usize, &'t DeTable<'t>)> {
        let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref().as_ref() == name) else {
            return Vec::new();
        };
        let tables = match value.get_ref() {
            DeValue::Array(list) => inner_tables(list),
            _ => None,
        };
        tables.unwrap_or_else(|| {
            self.sheet.wrong(key.span().start, format!("'{name}' is written [[{name}]], once for each"));
            Vec::new()
        })
    }

    /// Lists of texts by name.
    fn lists(&mut self, table: &DeTable<'_>, name: &str) -> Vec<(String, usize, Vec<String>)> {
        let Some((at, inner)) = self.table(table, name) else { return Vec::new() };
        if inner.len() > NAMES_MAX {
            self.sheet.wrong(at, format!("more than {NAMES_MAX} names in [{name}]"));
        }
        let mut lists = Vec::new();
        for (key, value) in inner {
            let text = |value: &Spanned<DeValue<'_>>| value.get_ref().as_str().map(str::to_owned);
            let texts = value.get_ref().as_array().and_then(|list| list.iter().map(text).collect::<Option<Vec<_>>>());
            match texts {
                Some(texts) => lists.push((key.get_ref().to_string(), value.span().start, texts)),
                None => self.sheet.wrong(value.span().start, "expected a list of texts".to_owned()),
            }
        }
        lists
    }

    /// Sections `[name.NAME]`.
    fn named<S: Section + Default>(&mut self, table: &DeTable<'_>, name: &str) -> Vec<(String, Keys, S)> {
        let Some((at, inner)) = self.table(table, name) else { return Vec::new() };
        if inner.len() > NAMES_MAX {
            self.sheet.wrong(at, format!("more than {NAMES_MAX} of [{name}.NAME]"));
        }
        let mut all = Vec::new();
        for (key, value) in inner {
            let (own, at) = (key.get_ref().to_string(), key.span().start);
            let mut section = S::default();
            match value.get_ref() {
                DeValue::Table(table) => {
                    let keys = self.section(&format!("{name}.{own}"), at, table, &mut section);
                    all.push((own, keys, section));
                }
                _ => self.sheet.wrong(at, format!("'{name}.{own}' is a section: [{name}.{own}]")),
            }
        }
        all
    }

    /// Sets the keys of a section.
    fn section(&mut self, name: &str, at: usize, table: &DeTable<'_>, section: &mut dyn Section) -> Keys {
        Keys { at, keys: self.sheet.section(name, table, section, raw) }
    }
}

fn inner_tables<'t>(list: &'t DeArray<'_>) -> Option<Vec<(usize, &'t DeTable<'t>)>> {
    let table = |value: &'t Spanned<DeValue<'_>>| Some((value.span().start, value.get_ref().as_table()?));
    list.iter().map(table).collect()
}

/// As [`config::raw`], with what to do where TOML has a form for it and the plan has not.
fn raw(value: &DeValue<'_>) -> Raw {
    match value {
        DeValue::Array(list) => Raw::List(list.iter().map(|value| raw(value.get_ref())).collect()),
        DeValue::Float(_) => Raw::Other("a number with a fraction: it stands in quotes"),
        DeValue::Datetime(_) => Raw::Other("a date: it stands in quotes"),
        other => config::raw(other),
    }
}
