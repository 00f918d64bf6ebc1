//! What the fuzz target drives: orders over a view that stays as it is.

use super::asked::{self, LISTED_MAX};
use super::orders::{Order, id_of, only, silence_of};
use super::{Fault, sight};
use crate::delivery::{Incident, Kind, Notice, Past};
use crate::job::View;
use crate::rule::Rules;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The time at which it is asked, seconds since 1970.
const NOW_S: i64 = 1_800_000_000;
/// Alerts that are not over, and such that are.
const OPEN: usize = 4;
const OVER: usize = 2;

/// Lines of orders: no octets do harm; no list is longer than what there is or may be listed; what may not be seen is
/// in no answer; a silence is bounded, and has tests that can be read.
pub fn orders(octets: &[u8]) {
    static VIEW: LazyLock<View> = LazyLock::new(view);
    let rules = Rules::default();
    for line in octets.split(|octet| *octet == b'\n') {
        let Ok(order) = serde_json::from_slice::<Order>(line) else { continue };
        let answer = match order {
            Order::Alerts(wanted) => {
                asked::alerts(&VIEW, &rules, &wanted).inspect(|answer| is_bounded(answer, "alerts"))
            }
            Order::Pending(part) => {
                asked::pending(&VIEW, &rules, &part).inspect(|answer| is_bounded(answer, "pending"))
            }
            Order::Alert { alert, seen: Some(seen) } => asked::alert(&VIEW, &rules, &alert, Some(&seen)),
            Order::Alert { alert, seen: None } => {
                let ids: Vec<&str> = VIEW.incidents.iter().map(id_of).collect();
                only(ids.iter().copied(), &alert, "alert").and_then(|id| {
                    assert!(ids.contains(&id) && (id.starts_with(&alert) || id.ends_with(&alert)));
                    asked::alert(&VIEW, &rules, id, None)
                })
            }
            Order::Summary { seen } => {
                let summary = asked::summary(&VIEW, &rules, seen.as_ref());
                assert!(number(&summary["open"]) + number(&summary["kept_back"]) <= OPEN);
                Ok(summary)
            }
            Order::Named {} => Ok(sight::named(&VIEW)),
            Order::Silence { when, from_s, for_s, by, why } => silence_of(when, (from_s, for_s), (&by, &why), NOW_S)
                .map(|silence| {
                    assert!(silence.until_s > silence.from_s && (silence.until_s - NOW_S).abs() < 3 * 366 * 86_400);
                    assert!(silence.when.iter().all(|test| crate::rule::LabelTest::parse(test).is_ok()));
                    assert!(!silence.by.contains(char::is_control) && silence.why.chars().count() <= 1_000);
                    Value::Null
                }),
            _ => continue,
        };
        answer.err().into_iter().for_each(|Fault { kind, why }| assert!(!kind.is_empty() && !why.is_empty()));
    }
}

fn is_bounded(answer: &Value, list: &str) {
    let listed = answer[list].as_array().map_or(0, Vec::len);
    let total = number(&answer["total"]);
    assert!(listed <= total && listed <= LISTED_MAX && total <= OPEN.max(OVER), "{answer}");
}

fn number(value: &Value) -> usize {
    value.as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(usize::MAX / 2)
}

fn view() -> View {
    let open = (0..OPEN).map(incident).collect();
    let past = (OPEN..OPEN + OVER).map(|at| Past { incident: incident(at), ended_s: NOW_S - 10 }).collect();
    View { incidents: open, past, ..View::default() }
}

fn incident(at: usize) -> Incident {
    let labels = [
        ("rule", format!("r{}", at % 2)),
        ("severity", ["critical", "warning", "info"][at % 3].to_owned()),
        ("device", format!("edge-{at}")),
        ("device_id", at.to_string()),
    ];
    let labels: BTreeMap<String, String> = labels.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
    let notice = Notice {
        incident: format!("0192f{at}aa"),
        kind: if at == 3 { Kind::Suppressed } else { Kind::Fired },
        title: format!("edge-{at} is down"),
        text: String::new(),
        at_s: NOW_S - 100,
        began_s: NOW_S - 1000 * at as i64,
        value: Some(at as f64),
        limit: None,
        condition: String::new(),
        figures: String::new(),
        flapping: false,
        routes: Vec::new(),
        labels,
    };
    Incident::new(notice, std::iter::once("a".to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn who_sees_nothing_is_told_of_no_device() {
        let seen = json!({ "devices": [], "graphs": [], "sources": [] });
        let wanted = |seen: Value| serde_json::from_value(json!({ "seen": seen })).unwrap();
        let alerts = asked::alerts(&view(), &Rules::default(), &wanted(seen.clone())).unwrap();
        let sight = serde_json::from_value(seen).unwrap();
        let told = format!("{alerts} {}", asked::summary(&view(), &Rules::default(), Some(&sight)));
        assert!(told.contains("\"total\":0") && !told.contains("edge-"), "{told}");
        let all = asked::alerts(&view(), &Rules::default(), &wanted(Value::Null)).unwrap();
        assert_eq!((number(&all["total"]), all["alerts"].as_array().map(Vec::len)), (OPEN, Some(OPEN)));
    }

    #[test]
    fn an_order_says_each_thing_once() {
        for line in [
            r#"{"do":"summary","do":"named"}"#,
            r#"{"do":"alert","alert":"a","alert":"b"}"#,
            r#"{"do":"alerts","limits":5}"#,
        ] {
            assert!(serde_json::from_str::<Order>(line).is_err(), "{line}");
        }
    }
}
