//! The names of a configuration, and what to say about one that is wrong.

use super::section::Configuration;
use super::units::short;
use crate::nearest::suggestion;

/// The sections with the names of their keys.
pub struct Names(Vec<(&'static str, Vec<String>)>);

impl Names {
    pub fn of<C: Configuration>(configuration: &C) -> Self {
        let keys = |section: &dyn super::Section| section.keys().into_iter().map(|key| key.name).collect();
        Names(configuration.sections().into_iter().map(|(name, section)| (name, keys(section))).collect())
    }

    /// Whether there is such a section.
    pub fn is_section(&self, name: &str) -> bool {
        self.0.iter().any(|(section, _)| *section == name)
    }

    /// Whether sections have names that begin with this one and a point.
    pub fn is_above(&self, name: &str) -> bool {
        self.0.iter().any(|(section, _)| section.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
    }

    /// Whether the section has such a key.
    pub fn is_key(&self, section: &str, key: &str) -> bool {
        self.keys(section).any(|name| name == key)
    }

    fn keys<'a>(&'a self, section: &'a str) -> impl Iterator<Item = &'a str> + Clone {
        self.0.iter().filter(move |(name, _)| *name == section).flat_map(|(_, keys)| keys.iter().map(String::as_str))
    }

    /// `unknown section [captuer]; did you mean 'capture'?`
    pub fn unknown_section(&self, name: &str) -> String {
        format!("unknown section [{}]{}", short(name), suggestion(name, self.0.iter().map(|(section, _)| *section)))
    }

    /// `unknown key 'snpa' in [record.sip]; did you mean 'snap'?`
    pub fn unknown_key(&self, section: &str, key: &str) -> String {
        let elsewhere = || self.0.iter().find(|(_, keys)| keys.iter().any(|name| name == key));
        let hint = match (section.is_empty(), elsewhere()) {
            (_, Some((other, _))) => format!("; it belongs to [{other}]"),
            (true, None) => suggestion(key, self.0.iter().map(|(section, _)| *section)),
            (false, None) => suggestion(key, self.keys(section)),
        };
        match section {
            "" => format!("'{}' stands in no section{hint}", short(key)),
            _ => format!("unknown key '{}' in [{section}]{hint}", short(key)),
        }
    }
}
