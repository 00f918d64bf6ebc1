//! Alerts of a data folder as the web asks for them: whoever looks after them is asked over a socket.

use crate::alert::here;
use crate::asking::Node;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use trunkline_web::sources::{Alerting, SourceError};

/// How long a reply may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long it may take where a channel is tried out: all of the channel's time.
const TEST_PATIENCE: Duration = Duration::from_secs(330);
const NAME: &str = "alert job";

/// Of this data folder.
pub struct Asked {
    node: Node,
    tests: Node,
}

impl Asked {
    /// Of this data folder, whichever program looks after its alerts.
    pub fn new(data: &Path) -> Asked {
        let path = here::socket(data);
        Asked { node: Node::new(path.clone(), NAME, PATIENCE), tests: Node::new(path, NAME, TEST_PATIENCE) }
    }
}

impl Alerting for Asked {
    fn serves(&self) -> bool {
        self.node.serves()
    }

    fn ask(&self, order: &Value) -> Result<Value, SourceError> {
        match order["do"].as_str() {
            Some("test") => self.tests.ask(order),
            _ => self.node.ask(order),
        }
    }
}
