//! Scopes as questions have them.

use super::{Rule, Scope, What};
use crate::inventory::Glob;
use trunkline_contract::graph::{GraphScope, GraphScopeRule};

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
    pub fn read(scope: &GraphScope) -> Result<Scope, String> {
        let rules: usize = scope.levels.iter().map(Vec::len).sum();
        if rules > RULES_MAX {
            return Err(format!("{rules} rules of a scope, {RULES_MAX} can be"));
        }
        let levels = scope.levels.iter().map(|rules| rules.iter().map(rule).collect());
        Ok(Scope { everything: scope.everything, levels: levels.collect::<Result<_, String>>()? })
    }

    /// Whether rules are about titles.
    pub fn is_about_titles(&self) -> bool {
        self.levels.iter().flatten().any(|rule| matches!(rule.what, What::GraphTitle(_)))
    }
}

fn rule(GraphScopeRule { allow, kind, value }: &GraphScopeRule) -> Result<Rule, String> {
    Ok(Rule { allow: *allow, what: What::read(kind, value)? })
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

    #[test]
    fn what_is_no_scope_is_none() {
        let rule = |kind: &str, value: &str| GraphScopeRule { allow: true, kind: kind.into(), value: value.into() };
        let scope = |rules| GraphScope { everything: false, levels: vec![rules] };
        let good = Scope::read(&scope(vec![rule("site", "Lon*"), rule("graph", "7")])).unwrap();
        assert_eq!(good.levels[0][1], Rule { allow: true, what: What::Graph(7) });
        for (wrong, why) in [
            (vec![rule("planet", "Mars")], "there are no rules about 'planet'"),
            (vec![rule("device", "edge-1")], "'edge-1' is no number of a device"),
            (vec![rule("site", "")], "a pattern of a site has 1 to 255 characters"),
            (vec![rule("device", "1"); 1001], "1001 rules of a scope, 1000 can be"),
        ] {
            assert_eq!(Scope::read(&scope(wrong)), Err(why.to_owned()));
        }
    }
}
