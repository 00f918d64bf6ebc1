//! `trunkline graph behind`: through which devices a device is reached.

use super::node::Place;
use crate::failure::Failure;
use crate::output::stdout;
use serde_json::json;
use std::io::Write;
use trunkline_kit::exit::Exit;

/// Say through which devices a device is reached: while all of them are down, it does not alarm
#[derive(Debug, clap::Args)]
pub struct Behind {
    /// Its name
    #[arg(value_name = "NAME")]
    name: String,
    /// Those on the way to it, in place of those that were named before; none is reached by itself
    #[arg(value_name = "PARENT")]
    parents: Vec<String>,
    #[command(flatten)]
    place: Place,
}

impl Behind {
    /// Has it done.
    ///
    /// # Errors
    /// What they say against it; nobody runs graphs there.
    pub fn run(&self) -> Result<Exit, Failure> {
        let Behind { name, parents, place } = self;
        let reply = place.ask(&json!({ "do": "behind", "name": name, "behind": parents }))?;
        let mut out = stdout();
        if place.is_json() {
            writeln!(out, "{reply}")?;
        } else if parents.is_empty() {
            writeln!(out, "{name} is reached by itself")?;
        } else {
            writeln!(out, "{name} is reached through {}", parents.join(", "))?;
        }
        out.flush()?;
        Ok(Exit::Done)
    }
}
