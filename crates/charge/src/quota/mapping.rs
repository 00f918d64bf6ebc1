//! The numbers and names of an operator's gateways, from a file: all that is wrong with it at once.
//!
//! ```toml
//! [messages]                       # numbers of messages; those left out are the project's own
//! authorization-request = 40
//! [elements]                       # numbers of elements, from 128 on
//! session = 200
//! [services]                       # rating groups of services that are not named by digits
//! web = 10
//! [users]
//! are = ["imsi", "e164"]           # what the user's name may be, the first that is known says whose it is
//! ```

use crate::account::IdentityKind;
use core::time::Duration;
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};
use trunkline_kit::config::{Mistake, Sheet, sheet};
use trunkline_kit::nearest::suggestion;
use trunkline_wire::gtpp::profile::{FIELDS, Field, Profile, ROLES, Role};

/// The longest file, octets.
pub const MAPPING_OCTETS_MAX: usize = 1 << 16;
/// Octets of the name of a service.
pub const SERVICE_OCTETS_MAX: usize = 64;
/// How long requests are remembered, unless it is said: longer than five tries a second apart.
const COPIES: Duration = Duration::from_secs(10);
const SECTIONS: [&str; 4] = ["messages", "elements", "services", "users"];

/// Words for what a user's name may be.
const KINDS: [(&str, IdentityKind); 5] = [
    ("imsi", IdentityKind::Imsi),
    ("e164", IdentityKind::E164),
    ("nai", IdentityKind::Nai),
    ("private", IdentityKind::Private),
    ("sip", IdentityKind::Sip),
];

/// How gateways are understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Numbers of messages and elements.
    pub profile: Profile,
    /// Rating groups by the names of services; a name of digits is its own.
    pub services: BTreeMap<String, u32>,
    /// What a user's name may be, in the order in which it is looked for.
    pub users: Vec<IdentityKind>,
    /// How long a request is remembered, so that a copy of it is known.
    pub copies: Duration,
}

impl Default for Mapping {
    /// The project's own numbers; services are digits; names of any kind.
    fn default() -> Self {
        let users = KINDS.iter().map(|(_, kind)| *kind).collect();
        Mapping { profile: Profile::default(), services: BTreeMap::new(), users, copies: COPIES }
    }
}

impl Mapping {
    /// The rating group of a service.
    pub fn rating_group(&self, service: &str) -> Option<u32> {
        self.services.get(service).copied().or_else(|| service.parse().ok())
    }

    /// The name of a rating group's service.
    pub fn service(&self, rating_group: u32) -> String {
        let named = self.services.iter().find(|(_, group)| **group == rating_group);
        named.map_or_else(|| rating_group.to_string(), |(name, _)| name.clone())
    }
}

/// Reads the file that is named `path` when mistakes are told.
///
/// # Errors
/// All mistakes, in the order of the file.
pub fn read(path: &str, text: &str) -> Result<Mapping, Vec<Mistake>> {
    sheet(path, text, MAPPING_OCTETS_MAX, mapping)
}

fn mapping(sheet: &mut Sheet<'_>, table: &DeTable<'_>) -> Mapping {
    for (key, _) in table.iter().filter(|(key, _)| !SECTIONS.contains(&key.get_ref().as_ref())) {
        let hint = suggestion(key.get_ref(), SECTIONS.into_iter());
        sheet.wrong(key.span().start, format!("unknown section [{}]{hint}", key.get_ref()));
    }
    let roles = numbers(sheet, table, "messages", ROLES);
    let fields = numbers(sheet, table, "elements", FIELDS);
    let services = services(sheet, table);
    let users = users(sheet, table).unwrap_or_else(|| Mapping::default().users);
    let profile = profile(sheet, &roles, &fields);
    Mapping { profile, services, users, ..Mapping::default() }
}

fn profile(sheet: &mut Sheet<'_>, roles: &[(Role, u8)], fields: &[(Field, u8)]) -> Profile {
    Profile::with(roles, fields).unwrap_or_else(|error| {
        sheet.wrong(0, error.to_string());
        Profile::default()
    })
}

/// The table of a section; none where it is not there.
fn section<'t, 'a>(sheet: &mut Sheet<'_>, table: &'t DeTable<'a>, name: &str) -> Option<&'t DeTable<'a>> {
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == name)?;
    let inner = match value.get_ref() {
        DeValue::Table(inner) => Some(inner),
        _ => None,
    };
    if inner.is_none() {
        sheet.wrong(key.span().start, format!("{name} is a section: write [{name}]"));
    }
    inner
}

/// What a section says of the numbers of some names.
fn numbers<T: Copy>(sheet: &mut Sheet<'_>, table: &DeTable<'_>, name: &str, known: &[(T, &str, u8)]) -> Vec<(T, u8)> {
    let mut numbers = Vec::new();
    for (key, value) in section(sheet, table, name).into_iter().flatten() {
        let Some((what, ..)) = known.iter().find(|(_, word, _)| *word == key.get_ref()) else {
            let hint = suggestion(key.get_ref(), known.iter().map(|(_, word, _)| *word));
            sheet.wrong(key.span().start, format!("unknown key '{}' in [{name}]{hint}", key.get_ref()));
            continue;
        };
        match number(value.get_ref()).and_then(|number| u8::try_from(number).ok()) {
            Some(number) => numbers.push((*what, number)),
            None => sheet.wrong(value.span().start, format!("{}: expected a number from 0 to 255", key.get_ref())),
        }
    }
    numbers
}

fn number(value: &DeValue<'_>) -> Option<u64> {
    match value {
        DeValue::Integer(digits) => u64::from_str_radix(digits.as_str(), digits.radix()).ok(),
        _ => None,
    }
}

fn services(sheet: &mut Sheet<'_>, table: &DeTable<'_>) -> BTreeMap<String, u32> {
    let mut services = BTreeMap::new();
    for (key, value) in section(sheet, table, "services").into_iter().flatten() {
        let name = key.get_ref();
        let group = number(value.get_ref()).and_then(|number| u32::try_from(number).ok());
        match group.filter(|_| !name.is_empty() && name.len() <= SERVICE_OCTETS_MAX) {
            Some(group) if services.values().any(|other| *other == group) => {
                sheet.wrong(value.span().start, format!("{name}: another service has the rating group {group}"));
            }
            Some(group) => drop(services.insert(name.to_string(), group)),
            None => {
                let what = format!("{name}: a name of at most {SERVICE_OCTETS_MAX} octets, and its rating group");
                sheet.wrong(value.span().start, what);
            }
        }
    }
    services
}

/// The kinds that `are` names; none where it is not there.
fn users(sheet: &mut Sheet<'_>, table: &DeTable<'_>) -> Option<Vec<IdentityKind>> {
    let mut kinds = None;
    for (key, value) in section(sheet, table, "users")? {
        let words = match value.get_ref() {
            DeValue::Array(words) if key.get_ref() == "are" && !words.is_empty() => words,
            _ => {
                sheet.wrong(key.span().start, "[users] has a list `are`, such as [\"imsi\", \"e164\"]".to_owned());
                continue;
            }
        };
        let kind = |word: &DeValue<'_>| match word {
            DeValue::String(word) => KINDS.iter().find(|(known, _)| known == word).map(|(_, kind)| *kind),
            _ => None,
        };
        for word in words.iter().filter(|word| kind(word.get_ref()).is_none()) {
            sheet.wrong(word.span().start, format!("are: one of {}", KINDS.map(|(word, _)| word).join(", ")));
        }
        kinds = Some(words.iter().filter_map(|word| kind(word.get_ref())).collect());
    }
    kinds
}
