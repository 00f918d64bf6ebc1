//! Alerts of a span.

use super::figures::{AlertFigures, AlertShown, RuleSum};
use crate::delivery::{History, Incident, Past};
use crate::rule::Severity;
use std::collections::BTreeMap;

/// Sums up the alerts that were open at some time of a span; at most `limit` are listed, and as many rules.
/// `history` says which of those that are over are remembered.
pub fn alerts(
    open: &[Incident],
    (past, history): (&[Past], History),
    (from_s, to_s): (i64, i64),
    limit: usize,
) -> AlertFigures {
    let over = past.iter().map(|past| (&past.incident, Some(past.ended_s)));
    let all = over.chain(open.iter().map(|incident| (incident, None)));
    let mut shown: Vec<AlertShown> =
        all.filter_map(|(incident, ended_s)| shown(incident, ended_s, from_s, to_s)).collect();
    // The identifier of an alert begins with its time: the newest first, and among equals by title.
    shown.sort_by(|one, other| other.began_s.cmp(&one.began_s).then_with(|| one.title.cmp(&other.title)));
    let (mut severities, mut rules) = (BTreeMap::<usize, u64>::new(), BTreeMap::<&str, RuleSum>::new());
    for alert in &shown {
        *severities.entry(rank(&alert.severity)).or_default() += 1;
        let sum = rules.entry(&alert.rule).or_default();
        if sum.count == 0 || rank(&alert.severity) < rank(&sum.severity) {
            sum.severity.clone_from(&alert.severity);
        }
        sum.count += 1;
        sum.open_s += alert.in_span_s;
        sum.longest_s = sum.longest_s.max(alert.in_span_s);
    }
    let mut rules: Vec<RuleSum> =
        rules.into_iter().map(|(rule, sum)| RuleSum { rule: rule.to_owned(), ..sum }).collect();
    rules.sort_by_key(|sum| core::cmp::Reverse((sum.count, sum.open_s)));
    let named = |(rank, count): (usize, u64)| (NAMES[rank].to_owned(), count);
    let oldest_s = past.first().map(|past| past.ended_s);
    AlertFigures {
        count: shown.len() as u64,
        open: shown.iter().filter(|alert| alert.ended_s.is_none()).count() as u64,
        severities: severities.into_iter().map(named).collect(),
        more_rules: rules.len().saturating_sub(limit) as u64,
        longest: shown.iter().rev().max_by_key(|alert| alert.in_span_s).cloned(),
        more: shown.len().saturating_sub(limit) as u64,
        // Those that are over are remembered in the order in which they ended.
        is_cut: past.len() >= history.entries && oldest_s.is_some_and(|oldest_s| oldest_s > from_s)
            || history.since_s.is_some_and(|since_s| since_s > from_s),
        rules: rules.into_iter().take(limit).collect(),
        alerts: shown.into_iter().take(limit).collect(),
    }
}

const NAMES: [&str; 3] = ["critical", "warning", "info"];

/// The worst is 0.
fn rank(severity: &str) -> usize {
    match severity {
        name if name == Severity::Critical.name() => 0,
        name if name == Severity::Info.name() => 2,
        _ => 1,
    }
}

fn shown(incident: &Incident, ended_s: Option<i64>, from_s: i64, to_s: i64) -> Option<AlertShown> {
    let began_s = incident.notice.began_s;
    // What ended after the span was not over at its end.
    let ended_s = ended_s.filter(|ended_s| *ended_s < to_s);
    let in_span_s = ended_s.unwrap_or(to_s) - began_s.max(from_s);
    let is_in = began_s < to_s && ended_s.is_none_or(|ended_s| ended_s >= from_s);
    is_in.then(|| AlertShown {
        title: incident.notice.title.clone(),
        rule: incident.notice.labels.get("rule").cloned().unwrap_or_default(),
        severity: incident.notice.severity().to_owned(),
        began_s,
        ended_s,
        in_span_s,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::{Kind, Notice};

    fn incident(rule: &str, severity: &str, began_s: i64) -> Incident {
        let labels = [("rule", rule), ("severity", severity)];
        let notice = Notice {
            incident: format!("{rule}{began_s}"),
            kind: Kind::Fired,
            title: format!("{rule} at {began_s}"),
            text: String::new(),
            at_s: began_s,
            began_s,
            value: None,
            limit: None,
            condition: String::new(),
            figures: String::new(),
            flapping: false,
            routes: Vec::new(),
            labels: labels.map(|(name, text)| (name.to_owned(), text.to_owned())).into(),
        };
        Incident::new(notice, std::collections::BTreeSet::new())
    }

    #[test]
    fn alerts_count_with_their_time_in_the_span() {
        let past = |rule: &str, severity: &str, began_s, ended_s| Past {
            incident: incident(rule, severity, began_s),
            ended_s,
        };
        let over = [
            past("full", "warning", 10, 50),    // before it
            past("full", "warning", 50, 150),   // into it
            past("full", "critical", 120, 130), // in it
            past("down", "critical", 180, 250), // out of it
            past("later", "info", 200, 260),    // behind it
        ];
        let open = [incident("slow", "info", 190), incident("later", "info", 300)];
        let told = alerts(&open, (&over, History::default()), (100, 200), 2);
        assert_eq!((told.count, told.open, told.more), (4, 2, 2));
        let severities = [("critical", 2), ("warning", 1), ("info", 1)];
        assert_eq!(told.severities, severities.map(|(name, count)| (name.to_owned(), count)));
        let sum = |rule: &RuleSum| (rule.rule.clone(), rule.severity.clone(), rule.count, rule.open_s, rule.longest_s);
        assert_eq!(sum(&told.rules[0]), ("full".to_owned(), "critical".to_owned(), 2, 60, 50));
        assert_eq!((sum(&told.rules[1]).0, told.more_rules), ("down".to_owned(), 1));
        assert_eq!(told.longest.as_ref().map(|alert| &*alert.title), Some("full at 50"));
        let listed: Vec<(i64, Option<i64>, i64)> =
            told.alerts.iter().map(|alert| (alert.began_s, alert.ended_s, alert.in_span_s)).collect();
        assert_eq!(listed, [(190, None, 10), (180, None, 20)]);
        assert!(!told.is_cut);
        let is_cut = |entries, since_s| alerts(&open, (&over, History { entries, since_s }), (40, 200), 2).is_cut;
        assert!(is_cut(5, None) && is_cut(9, Some(41)) && !is_cut(6, Some(40)));
    }
}
