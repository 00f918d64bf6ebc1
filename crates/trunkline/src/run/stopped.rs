//! A job that cannot start, as its data are damaged or its files have mistakes: it stays stopped, which is told, and
//! the others of the run go on.

use crate::failure::Failure;

/// What was started, or none: then why is told in the log, and added to `stopped`.
///
/// # Errors
/// None of its own: what ends the whole run is for its caller to find out before.
pub fn or_stopped<T>(job: &str, started: Option<Result<T, Failure>>, stopped: &mut Vec<String>) -> Option<T> {
    match started? {
        Ok(job) => Some(job),
        Err(Failure::Usage(why) | Failure::Failed(why) | Failure::Damaged(why)) => {
            tracing::error!("{job} stopped, the other jobs go on: {why}");
            stopped.push(format!("{job} stopped: {why}"));
            None
        }
        Err(Failure::NobodyReads) => None,
    }
}
