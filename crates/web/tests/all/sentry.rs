//! Alerts as the job tells them (`crates/alert/tests/answers.json`, which a test there keeps true), and an order book.

use crate::world::HOME;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use trunkline_web::sources::{Alerting, SourceError, Trouble};

/// Answers that a test of the job wrote.
const ANSWERS: &str = include_str!("../../../alert/tests/answers.json");
/// Of two devices, to who sees both and to who sees a part of the first.
const OF_SOME: &str = include_str!("../../../alert/tests/answers-of-some.json");

/// It has an alert that is kept back, one that is over, and one that may come.
#[derive(Default)]
pub struct Sentry {
    /// Nobody looks after alerts.
    pub absent: AtomicBool,
    /// There are the alerts of two devices.
    pub of_some: AtomicBool,
    /// The files of rules have mistakes.
    pub mistaken: AtomicBool,
    /// Critical alerts that a summary tells of.
    pub critical: Mutex<u64>,
    /// Who made the silence that there is, if not who the answer says.
    pub silenced_by: Mutex<Option<String>>,
    /// What was asked and ordered.
    pub asked: Mutex<Vec<Value>>,
}

fn refused(trouble: Trouble, text: &str) -> Result<Value, SourceError> {
    Err(SourceError::new(trouble, text))
}

/// The answer to a question of the file.
pub fn answer(question: &Value) -> Option<Value> {
    let all: Vec<Value> = serde_json::from_str(ANSWERS).unwrap();
    known(all, question)
}

/// The same where there are two devices. Who does not say what is seen is told of both.
pub fn answer_of_some(question: &Value) -> Option<Value> {
    let all: Vec<Value> = serde_json::from_str(OF_SOME).unwrap();
    known(all.into_iter().filter(|one| one["question"]["seen"] == question["seen"]).collect(), question)
}

fn known(all: Vec<Value>, question: &Value) -> Option<Value> {
    let same = |known: &Value| {
        let is = |name: &str| known[name].is_null() || known[name] == question[name];
        known["do"] == question["do"]
            && is("alert")
            && is("rule")
            && known["past"].as_bool().unwrap_or_default() == question["past"].as_bool().unwrap_or_default()
    };
    all.into_iter().find(|one| same(&one["question"])).map(|one| one["answer"].clone())
}

/// The identifier of the alert that is open, or of the one that is over.
pub fn alert(past: bool) -> String {
    let list = answer(&json!({ "do": "alerts", "past": past })).unwrap();
    list["alerts"][0]["id"].as_str().unwrap().to_owned()
}

/// The identifier of the silence that there is.
pub fn silence() -> String {
    answer(&json!({ "do": "silences" })).unwrap()["silences"][0]["silence"].as_str().unwrap().to_owned()
}

impl Sentry {
    /// What was ordered, without what only looks.
    pub fn orders(&self) -> Vec<Value> {
        let changes = ["acknowledge", "silence", "unsilence", "test", "reload"];
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|one| changes.iter().any(|change| one["do"] == *change)).cloned().collect()
    }

    fn known(&self, order: &Value, name: &str, known: &[String]) -> Result<Value, SourceError> {
        let given = order[name].as_str().unwrap().to_owned();
        match known.contains(&given) {
            true => Ok(json!({ name: given })),
            false => refused(Trouble::NotFound, &format!("There is no {name} '{given}'.")),
        }
    }
}

impl Alerting for Sentry {
    fn serves(&self) -> bool {
        !self.absent.load(Ordering::SeqCst)
    }

    fn ask(&self, order: &Value) -> Result<Value, SourceError> {
        if !self.serves() {
            return refused(Trouble::NotFound, "The alert job is not running.");
        }
        self.asked.lock().unwrap().push(order.clone());
        if self.of_some.load(Ordering::SeqCst) {
            let what = order["alert"].as_str().unwrap_or("part");
            let look = match order["do"] == "acknowledge" {
                true => json!({ "do": "alert", "alert": what, "seen": order["seen"] }),
                false => order.clone(),
            };
            let known = answer_of_some(&look).or_else(|| order["seen"].is_null().then(|| answer(order)).flatten());
            return known.map_or_else(|| refused(Trouble::NotFound, &format!("there is no alert '{what}'")), Ok);
        }
        let mistaken = self.mistaken.load(Ordering::SeqCst);
        match order["do"].as_str().unwrap() {
            "acknowledge" => self.known(order, "alert", &[alert(false)]),
            "unsilence" => self.known(order, "silence", &[silence()]),
            "test" if order["channel"] == "pager" => {
                Ok(json!({ "channel": "pager", "outcome": "given up", "why": format!("{HOME}/send: it ends with 3") }))
            }
            "test" => self
                .known(order, "channel", &["noc".to_owned()])
                .map(|_| json!({ "channel": "noc", "outcome": "delivered", "why": "" })),
            "silence" if order["for_s"].as_i64() <= Some(0) => {
                refused(Trouble::Refused, "A silence lasts 1 to 31622400 seconds.")
            }
            "silence" => {
                let mut made = answer(&json!({ "do": "silences" })).unwrap()["silences"][0].clone();
                for name in ["when", "by", "why"] {
                    made[name] = order[name].clone();
                }
                Ok(made)
            }
            "silences" => {
                let mut told = answer(order).unwrap();
                if let Some(by) = &*self.silenced_by.lock().unwrap() {
                    told["silences"][0]["by"] = json!(by);
                }
                Ok(told)
            }
            "reload" if mistaken => refused(Trouble::Conflict, "Rules have mistakes."),
            "reload" => Ok(json!({ "rules": 3 })),
            "check" if mistaken => {
                Ok(json!({ "rules": null, "mistakes": [format!("{HOME}/noc.toml:2:1: there is no key 'valu'"), "x"] }))
            }
            "summary" => {
                let mut told = answer(order).unwrap();
                let critical = *self.critical.lock().unwrap();
                (told["open"], told["critical"]) = (json!(critical), json!(critical));
                if critical > 0 {
                    let rule = json!({ "rule": "uplink", "alerts": critical, "alert": alert(false), "since": 5 });
                    told["rules_critical"] = json!([rule]);
                }
                Ok(told)
            }
            what => answer(order).map_or_else(|| refused(Trouble::NotFound, &format!("There is no such {what}.")), Ok),
        }
    }
}
