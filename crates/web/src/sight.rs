//! Alerts as somebody may see them: whatever is asked about alerts for people goes through here, so that nothing
//! forgets what is hidden from them.

use crate::auth::GraphScope;
use crate::server::Sources;
use crate::sources::{Alerting, Graphing, SourceError, Trouble};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use trunkline_contract::graph::{self, GraphSeen, NamedDevice, Question};

/// What is answered by what somebody may see of devices and graphs. All else is of all of them.
const OF_SOME: [&str; 5] = ["summary", "alerts", "alert", "pending", "acknowledge"];

/// Who looks after alerts, and what somebody may see.
///
/// From whom something is hidden keeps back alerts of one device that they see, and knows silences of their own alone:
/// those of others and maintenance windows name devices of all kinds.
pub struct Sight {
    alerting: Arc<dyn Alerting>,
    graphing: Option<Arc<Graphing>>,
    /// None is everything.
    scope: Option<Arc<GraphScope>>,
    /// Whose silences are their own; empty for nobody.
    name: String,
}

impl Sight {
    /// As somebody with a scope sees them; none where there are no alerts.
    pub fn of(sources: &Sources, scope: Option<Arc<GraphScope>>, name: &str) -> Option<Sight> {
        let graphing = sources.graphing.clone();
        Some(Sight { alerting: sources.alerting.clone()?, graphing, scope, name: name.to_owned() })
    }

    /// Whether somebody looks after alerts.
    pub fn serves(&self) -> bool {
        self.alerting.serves()
    }

    /// Whether everything is seen.
    pub fn is_whole(&self) -> bool {
        self.scope.is_none()
    }

    /// Answers a question, or has an order done, as [`Alerting::ask`] does: what is not seen is not there.
    ///
    /// # Errors
    /// Those of alerts and of graphs; refused is what is of all devices, where some are hidden.
    pub fn ask(&self, mut order: Value) -> Result<Value, SourceError> {
        let Some(scope) = &self.scope else { return self.alerting.ask(&order) };
        match order["do"].as_str().unwrap_or_default() {
            "silence" => self.check_reach(scope, &order["when"])?,
            "silences" => return self.own_silences(),
            "unsilence" => self.check_own(order["silence"].as_str().unwrap_or_default())?,
            known if OF_SOME.contains(&known) => order["seen"] = self.seen(scope)?,
            _ => return refused("This covers all devices, and some are hidden from you."),
        }
        self.alerting.ask(&order)
    }

    /// Refuses tests that are not about one device that is seen.
    fn check_reach(&self, scope: &GraphScope, tests: &Value) -> Result<(), SourceError> {
        let Some(name) = device_of(tests) else {
            return refused(
                "Some devices are hidden from you: one test must name one device that you see, such as 'device = \
                    core-1'.",
            );
        };
        let graphing = self.graphing.as_ref().filter(|graphing| graphing.serves());
        let question = Question::DeviceNamed { name: name.to_owned() };
        let found = graphing.map(|graphing| graph::ask::<NamedDevice>(&**graphing, Some(scope.told()), question));
        match found.map(|found| found.map_err(SourceError::from)) {
            Some(Ok(_)) => Ok(()),
            Some(Err(error)) if error.trouble != Trouble::NotFound => Err(error),
            _ => refused(&format!("There is no device '{name}'.")),
        }
    }

    /// The silences that they made.
    fn own_silences(&self) -> Result<Value, SourceError> {
        let mut told = self.alerting.ask(&json!({ "do": "silences" }))?;
        if let Some(silences) = told["silences"].as_array_mut() {
            silences.retain(|silence| silence["by"] == self.name.as_str());
        }
        told["windows"] = json!([]);
        Ok(told)
    }

    /// Answers for a silence of somebody else as for one that there is not.
    fn check_own(&self, id: &str) -> Result<(), SourceError> {
        let own = self.own_silences()?;
        match own["silences"].as_array().is_some_and(|own| own.iter().any(|silence| silence["silence"] == id)) {
            true => Ok(()),
            false => Err(SourceError::new(Trouble::NotFound, format!("There is no silence '{id}'."))),
        }
    }

    /// What is seen of what alerts name. An alert that comes meanwhile is not seen before the next question. Each list
    /// is told, whatever was answered: without one the job of alerts refuses.
    fn seen(&self, scope: &GraphScope) -> Result<Value, SourceError> {
        let Some(graphing) = self.graphing.as_ref().filter(|graphing| graphing.serves()) else {
            return Ok(json!(GraphSeen::default()));
        };
        let named = self.alerting.ask(&json!({ "do": "named" }))?;
        let unread = |error| SourceError::new(Trouble::Failed, format!("unexpected reply from the alert job: {error}"));
        let named = GraphSeen::deserialize(named).map_err(unread)?;
        let seen: GraphSeen = graph::ask(&**graphing, Some(scope.told()), Question::Seen(named))?;
        Ok(json!(seen))
    }
}

fn refused<T>(why: &str) -> Result<T, SourceError> {
    Err(SourceError::new(Trouble::Refused, why))
}

/// The one device that all which tests let through is of: one of them names it, whole. Whatever the others say keeps
/// back less.
fn device_of(tests: &Value) -> Option<&str> {
    tests.as_array()?.iter().filter_map(Value::as_str).find_map(named)
}

/// The device that a test names.
fn named(test: &str) -> Option<&str> {
    let (label, name) = test.split_once('=')?;
    let name = name.trim();
    (label.trim() == "device" && is_one_name(name)).then_some(name)
}

/// Whether a test of this text is about one device: a comma and a star say more than a name.
pub fn is_one_name(name: &str) -> bool {
    !name.is_empty() && !name.contains([',', '*'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_of_tests_is_named_whole() {
        for tests in [json!(["device = edge-2"]), json!(["severity != critical", " device=edge-2 ", "rule = up*"])] {
            assert_eq!(device_of(&tests), Some("edge-2"), "{tests}");
        }
        for test in
            ["device != edge-2", "device ! = edge-2", "device = edge-*", "device = a, b", "device =", "site = a"]
        {
            assert_eq!(device_of(&json!([test])), None, "{test}");
        }
        assert_eq!(device_of(&Value::Null), None);
    }
}
