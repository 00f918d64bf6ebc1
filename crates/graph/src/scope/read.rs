//! Scopes as questions have them.
//!
//! ```text
//!   {"everything":false,"levels":[[{"allow":true,"kind":"site","value":"London"},{"allow":false,..}],[..]]}
//! ```

use super::{Rule, Scope, What};
use crate::inventory::Glob;
use serde_json::Value;

/// Rules of a scope.
// Limit: rules of what one user may see of graphs
// Beyond: the request is refused
// Seen in: the error message
pub const RULES_MAX: usize = 1000;
/// Characters of what a rule is about.
pub const VALUE_CHARACTERS_MAX: usize = 255;

impl Scope {
    /// Reads one.
    ///
    /// # Errors
    /// It is none, and why: nothing is to be shown then.
    pub fn read(scope: &Value) -> Result<Scope, String> {
        let everything = scope["everything"].as_bool().ok_or("\"everything\" of a scope is true or false")?;
        let levels = scope["levels"].as_array().ok_or("\"levels\" of a scope is a list")?;
        let level = |rules: &Value| -> Result<Vec<Rule>, String> {
            rules.as_array().ok_or("a level of a scope is a list")?.iter().map(rule).collect()
        };
        let levels: Vec<Vec<Rule>> = levels.iter().map(level).collect::<Result<_, _>>()?;
        let rules: usize = levels.iter().map(Vec::len).sum();
        if rules > RULES_MAX {
            return Err(format!("{rules} rules of a scope, {RULES_MAX} can be"));
        }
        Ok(Scope { everything, levels })
    }

    /// Whether rules are about titles.
    pub fn is_about_titles(&self) -> bool {
        self.levels.iter().flatten().any(|rule| matches!(rule.what, What::GraphTitle(_)))
    }
}

fn rule(rule: &Value) -> Result<Rule, String> {
    let allow = rule["allow"].as_bool().ok_or("\"allow\" of a rule is true or false")?;
    let kind = rule["kind"].as_str().ok_or("\"kind\" of a rule is a text")?;
    let value = rule["value"].as_str().ok_or("\"value\" of a rule is a text")?;
    Ok(Rule { allow, what: What::read(kind, value)? })
}

impl What {
    /// Reads a kind and its value: a number or a pattern.
    ///
    /// # Errors
    /// They are none, and why.
    pub fn read(kind: &str, value: &str) -> Result<What, String> {
        let is_pattern = !value.is_empty() && value.chars().count() <= VALUE_CHARACTERS_MAX;
        let number = || value.parse::<u32>().map_err(|_| format!("'{value}' is no number of a {kind}"));
        let pattern = || match is_pattern {
            true => Ok(Glob::new(value)),
            false => Err(format!("a pattern of a {kind} has 1 to {VALUE_CHARACTERS_MAX} characters")),
        };
        Ok(match kind {
            "device" => What::Device(number()?),
            "device-name" => What::DeviceName(pattern()?),
            "site" => What::Site(pattern()?),
            "device-template" => What::DeviceTemplate(pattern()?),
            "tree" => What::Tree(pattern()?),
            "place" => What::Place(number()?),
            "graph" => What::Graph(number()?),
            "graph-template" => What::GraphTemplate(pattern()?),
            "graph-title" => What::GraphTitle(pattern()?),
            _ => return Err(format!("there are no rules about '{kind}'")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_no_scope_is_none() {
        let rule = |kind: &str, value: &str| json!({ "allow": true, "kind": kind, "value": value });
        let scope = |rules: Value| json!({ "everything": false, "levels": [rules] });
        let good = Scope::read(&scope(json!([rule("site", "Lon*"), rule("graph", "7")]))).unwrap();
        assert_eq!(good.levels[0][1], Rule { allow: true, what: What::Graph(7) });
        for wrong in [
            json!({}),
            json!({ "everything": "no", "levels": [] }),
            json!({ "everything": true }),
            scope(json!([rule("planet", "Mars")])),
            scope(json!([rule("device", "edge-1")])),
            scope(json!([rule("site", "")])),
            scope(json!([{ "kind": "site", "value": "London" }])),
            scope(vec![rule("device", "1"); 1001].into()),
        ] {
            assert!(Scope::read(&wrong).is_err(), "{wrong}");
        }
    }
}
