//! When a rule is bad.

use super::{Keys, Own, Reader};
use crate::rule::Condition;
use crate::rule::settings::{ConditionKind, RuleSection};

/// Keys, and the conditions that have them.
const OF_CONDITIONS: [(&str, &[ConditionKind]); 8] = [
    ("per", &[ConditionKind::Rise, ConditionKind::Fall]),
    ("side", &[ConditionKind::Baseline]),
    ("floor", &[ConditionKind::Baseline]),
    ("weeks", &[ConditionKind::Baseline]),
    ("weeks-min", &[ConditionKind::Baseline]),
    ("after", &[ConditionKind::Down]),
    ("limit", NOT_DOWN),
    ("clear", NOT_DOWN),
];
const NOT_DOWN: &[ConditionKind] = &[
    ConditionKind::High,
    ConditionKind::Low,
    ConditionKind::Rise,
    ConditionKind::Fall,
    ConditionKind::Baseline,
    ConditionKind::Flapping,
];

impl Reader<'_, '_, '_> {
    pub(super) fn condition(&mut self, section: &RuleSection, own: &Own<'_>, keys: &Keys) -> Option<Condition> {
        let kind = section.condition;
        for (key, kinds) in OF_CONDITIONS.iter().filter(|(key, kinds)| keys.has(key) && !kinds.contains(&kind)) {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
            let what = format!("condition \"{}\" has no '{key}'; {} has", kind.name(), names.join(", "));
            self.sheet.wrong(keys.at(key), what);
        }
        if kind == ConditionKind::Down {
            return Some(Condition::Down { after_s: self.seconds(section.after, keys.at("after")) });
        }
        let Some(limit) = section.limit.map(|limit| limit.0) else {
            self.sheet.wrong(own.at, format!("[{}] needs a limit", own.section));
            return None;
        };
        let clear = section.clear.map_or(limit, |clear| clear.0);
        self.limits_hold_together(section, limit, clear, keys);
        let per_s = self.seconds(section.per, keys.at("per"));
        Some(match kind {
            ConditionKind::High => Condition::High { limit, clear },
            ConditionKind::Low => Condition::Low { limit, clear },
            ConditionKind::Rise | ConditionKind::Fall => {
                Condition::Rate { falls: kind == ConditionKind::Fall, limit, clear, per_s }
            }
            ConditionKind::Flapping => Condition::Flapping { limit, clear },
            _ => Condition::Baseline {
                side: section.side,
                deviations: limit,
                clear,
                floor: section.floor.0,
                weeks: section.weeks,
                weeks_min: section.weeks_min,
            },
        })
    }

    fn limits_hold_together(&mut self, section: &RuleSection, limit: f64, clear: f64, keys: &Keys) {
        let kind = section.condition;
        let low = kind == ConditionKind::Low;
        if if low { clear < limit } else { clear > limit } {
            let side = if low { "below" } else { "above" };
            self.sheet.wrong(keys.at("clear"), format!("clear {clear} is {side} the limit {limit}: it would be bad"));
        }
        let windowed = matches!(kind, ConditionKind::Rise | ConditionKind::Fall | ConditionKind::Flapping);
        if windowed && section.window.is_zero() {
            let what = format!("condition \"{}\" needs a window of several values", kind.name());
            self.sheet.wrong(keys.at("condition"), what);
        }
        let positive = windowed || kind == ConditionKind::Baseline;
        if positive && (limit < 0.0 || clear < 0.0) {
            self.sheet.wrong(keys.at("limit"), format!("a limit of \"{}\" is 0 or more", kind.name()));
        }
        if section.floor.0 < 0.0 {
            self.sheet.wrong(keys.at("floor"), "a floor is 0 or more".to_owned());
        }
        if kind == ConditionKind::Baseline && section.weeks_min > section.weeks {
            let what = format!("{} weeks are never seen where {} are remembered", section.weeks_min, section.weeks);
            self.sheet.wrong(keys.at("weeks-min"), what);
        }
    }
}
