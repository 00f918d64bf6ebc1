//! Graphs as the job tells them (`crates/graph/tests/answers.json`, which a test there keeps true), and an order book.

use crate::world::HOME;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use trunkline_contract::graph::{Answer, Ask, GraphForm, GraphScope, Graphs, Question, Told};
use trunkline_contract::{Cause, Node, Octets, Refusal};

/// Answers that a test of the job wrote.
const ANSWERS: &str = include_str!("../../../graph/tests/answers.json");

/// It has three devices and their graphs.
#[derive(Default)]
pub struct Gallery {
    /// No device is polled.
    pub absent: AtomicBool,
    /// What was asked, of questions and files.
    pub asked: Mutex<Vec<Value>>,
    /// By whom, and what.
    pub orders: Mutex<Vec<(String, Value)>>,
}

fn refused(cause: Cause, text: &str) -> Refusal {
    Refusal::new(cause, text)
}

impl Node<Graphs> for Gallery {
    fn serves(&self) -> bool {
        !self.absent.load(Ordering::SeqCst)
    }

    fn call(&self, ask: Ask) -> Result<Answer, Refusal> {
        match ask {
            Ask::Question { scope, question } => self.told(scope, &question).map(Answer::Told),
            Ask::Change { by, order } => self.order(&by, &order).map(|()| Answer::Done),
            Ask::Picture { scope, graph, form, span, zone } => {
                let mut question = scoped(scope, &span);
                question["zone"] = json!(zone);
                self.file(graph, form, &question).map(|file| Answer::File(Octets(file)))
            }
            Ask::Operate(order) => panic!("no page asks {order}"),
        }
    }
}

/// What is asked, with who asks.
fn scoped(scope: Option<GraphScope>, asked: &impl Serialize) -> Value {
    let mut asked = json!(asked);
    if let Some(scope) = scope {
        asked["scope"] = json!(scope);
    }
    asked
}

impl Gallery {
    fn told(&self, scope: Option<GraphScope>, question: &Question) -> Result<Told, Refusal> {
        let question = scoped(scope, question);
        let answer = self.ask(&question)?;
        Ok(serde_json::from_value(json!({ (question["do"].as_str().unwrap()): answer })).unwrap())
    }

    fn ask(&self, question: &Value) -> Result<Value, Refusal> {
        if !self.serves() {
            return Err(refused(Cause::NotFound, "No graphs are made here."));
        }
        self.asked.lock().unwrap().push(question.clone());
        if question["do"] == "run" {
            return Ok(json!({
                "samples_per_s": 12.5, "waiting_octets": 0, "samples_dropped": 1, "cycles_missed": 2, "pictures": 3,
                "pictures_failed": 0, "troubles": [format!("{HOME}/graphs/journal: no space is left")],
            }));
        }
        if ["device", "node", "tree"].iter().any(|what| question[what] == 99) || question["id"] == 99 {
            return Err(refused(Cause::NotFound, "there is no such thing"));
        }
        if question["limit"] == 0 {
            return Err(refused(Cause::Wrong, "\"limit\" is 1 to 500"));
        }
        let all: Vec<Value> = serde_json::from_str(ANSWERS).unwrap();
        if question["do"] == "realtime" {
            if question["graph"] == 97 {
                return Err(refused(Cause::Busy, "at most 256 data sources can be read in real time at once"));
            }
            let is_of =
                |one: &&Value| one["question"]["do"] == "pictures" && one["question"]["scope"] == question["scope"];
            let pictures = all.iter().find(is_of).and_then(|one| one["answer"]["pictures"].as_array()).unwrap();
            let is_it = |one: &&Value| one["id"] == question["graph"] && one["trouble"].is_null();
            let found = pictures.iter().find(is_it);
            let picture = &found.ok_or_else(|| refused(Cause::NotFound, "there is no such graph"))?["picture"];
            return Ok(json!({
                "id": question["graph"], "step": 2, "heard": 1_790_020_799, "troubles": ["'edge-1' does not answer."],
                "picture": picture,
            }));
        }
        let is_asked = |one: &Value| ["do", "scope"].iter().all(|by| one["question"][by] == question[by]);
        let known = all.into_iter().find(is_asked);
        let answer = known.ok_or_else(|| refused(Cause::Wrong, "no question"))?;
        // To who sees a part, what was not told is not there.
        let is_hidden = ["id", "device"].iter().any(|by| {
            let asked = &answer["question"]["id"];
            !question["scope"].is_null() && !question[by].is_null() && question[by] != *asked
        });
        if is_hidden {
            return Err(refused(Cause::NotFound, "there is no such thing"));
        }
        if question["name"] != answer["question"]["name"] {
            return Err(refused(Cause::NotFound, "there is no such device"));
        }
        Ok(answer["answer"].clone())
    }

    fn order(&self, by: &str, order: &Value) -> Result<(), Refusal> {
        if order["name"] == "taken" {
            return Err(refused(Cause::Wrong, "a device 'taken' exists already"));
        }
        self.orders.lock().unwrap().push((by.to_owned(), order.clone()));
        Ok(())
    }

    fn file(&self, graph: u32, form: GraphForm, question: &Value) -> Result<Vec<u8>, Refusal> {
        self.asked.lock().unwrap().push(question.clone());
        match (graph, form) {
            (99, _) => Err(refused(Cause::NotFound, "there is no graph 99")),
            (98, _) => Err(refused(Cause::Failed, &format!("{HOME}/graphs/1/2.rrd: octet 7: damaged"))),
            (_, GraphForm::Png) => Ok(b"\x89PNG\r\n\x1a\n".to_vec()),
            (_, GraphForm::Svg) => Ok(b"<?xml version=\"1.0\"?><svg/>".to_vec()),
            (_, GraphForm::Csv) => Ok(b"time,In\r\n".to_vec()),
        }
    }
}
