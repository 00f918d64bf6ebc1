//! Those who look after alerts of a data folder, and how they are asked.

use crate::alert::here;
use crate::asking;
use crate::cli::DATA_DEFAULT;
use crate::failure::Failure;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// How long a reply may take: a channel that is tried out may need all of its time.
const PATIENCE: Duration = Duration::from_secs(330);

/// The data folder, and how replies are written.
#[derive(Clone, Debug, clap::Args)]
pub struct Place {
    /// The data folder
    #[arg(long, value_name = "DIR", default_value = DATA_DEFAULT, value_hint = clap::ValueHint::DirPath)]
    pub data: PathBuf,
    /// The reply as JSON
    #[arg(long)]
    pub json: bool,
}

impl Place {
    /// Asks once.
    ///
    /// # Errors
    /// What they say against it; nobody is there.
    pub fn ask(&self, order: &Value) -> Result<Value, Failure> {
        let path = here::socket(&self.data);
        let node = asking::Node::new(path, "alert job", PATIENCE);
        if !node.serves() {
            let data = self.data.display();
            return Err(Failure::Failed(format!(
                "the alert job is not running for {data}; set [alert] enabled = true and start `trunkline run` or \
                 `trunkline graph serve`"
            )));
        }
        node.ask(order).map_err(|why| Failure::Failed(why.to_string()))
    }
}
