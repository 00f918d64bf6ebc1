//! How often what is asked for is there, when memory is far too small for all: our store, memcached, an exact LRU.

use super::super::{Bench, example};
use serde_json::Value;

/// Limit of memory, MiB.
const MEBIBYTES: &str = "16";
/// Requests of a trace.
const REQUESTS: &str = "2000000";
const REQUESTS_QUICK: &str = "600000";

/// What the example of the cache found: `keys`, `requests`, `mebibytes`, and `rows` with hits in percent.
///
/// # Errors
/// It cannot be built or run.
pub fn measure(bench: &Bench<'_>) -> Result<Value, String> {
    let program = example::build(bench, "trunkline-cache", "hits")?;
    example::run(&program, &[MEBIBYTES, if bench.quick { REQUESTS_QUICK } else { REQUESTS }])
}
