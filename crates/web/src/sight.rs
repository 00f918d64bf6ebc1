//! Alerts as somebody may see them: whatever is asked about alerts for people goes through here, so that nothing
//! forgets what is hidden from them.

use crate::auth::GraphScope;
use crate::server::Sources;
use crate::sources::{Alerting, Graphing, SourceError, Trouble};
use serde_json::{Value, json};
use std::sync::Arc;

/// What is answered by what somebody may see of devices and graphs. All else is of all of them.
const OF_SOME: [&str; 5] = ["summary", "alerts", "alert", "pending", "acknowledge"];

/// Who looks after alerts, and what somebody may see.
pub struct Sight {
    alerting: Arc<dyn Alerting>,
    graphing: Option<Arc<dyn Graphing>>,
    /// None is everything.
    scope: Option<Arc<GraphScope>>,
}

impl Sight {
    /// As somebody with a scope sees them; none where there are no alerts.
    pub fn of(sources: &Sources, scope: Option<Arc<GraphScope>>) -> Option<Sight> {
        let graphing = sources.graphing.clone();
        Some(Sight { alerting: sources.alerting.clone()?, graphing, scope })
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
        if !OF_SOME.iter().any(|known| order["do"] == *known) {
            return Err(SourceError::new(Trouble::Refused, "This is of all devices, and some are hidden from you."));
        }
        order["seen"] = self.seen(scope)?;
        self.alerting.ask(&order)
    }

    /// What is seen of what alerts name. An alert that comes meanwhile is not seen before the next question. Each list
    /// is told, whatever was answered: without one the job of alerts refuses.
    fn seen(&self, scope: &GraphScope) -> Result<Value, SourceError> {
        let Some(graphing) = self.graphing.as_ref().filter(|graphing| graphing.serves()) else {
            return Ok(json!({ "devices": [], "graphs": [], "sources": [] }));
        };
        let named = self.alerting.ask(&json!({ "do": "named" }))?;
        let lists = |of: &Value| json!({ "devices": of["devices"], "graphs": of["graphs"], "sources": of["sources"] });
        let mut question = lists(&named);
        (question["do"], question["scope"]) = ("seen".into(), scope.told());
        Ok(lists(&graphing.ask(&question)?))
    }
}
