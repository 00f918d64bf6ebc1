//! `cargo xtask loom [NAME ...]`: the models of what threads meet at, under loom, with the code itself.

use crate::repository::Repository;
use std::process::Command;

/// Where models are: the arguments that cargo finds them by.
const MODELS: [&[&str]; 2] =
    [&["--package", "trunkline-cache", "--test", "loom"], &["--package", "trunkline-net", "--lib", "models::"]];

/// Runs them all, or those with a name.
///
/// # Errors
/// cargo does not start.
pub fn command(repository: &Repository, names: &[String]) -> Result<bool, String> {
    // Flags that are set for the whole workspace stay, so that what is built for models is built with them, too.
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let mut good = true;
    for model in MODELS {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(repository.path(".")).env("RUSTFLAGS", format!("{flags} --cfg loom"));
        // Those of the cache name a bound each; without one, four mails of two senders take more than minutes.
        if model.contains(&"trunkline-net") && std::env::var_os("LOOM_MAX_PREEMPTIONS").is_none() {
            cargo.env("LOOM_MAX_PREEMPTIONS", "2");
        }
        cargo.args(["test", "--quiet", "--locked", "--profile", "models"]).args(model);
        cargo.args(["--"]).args(names);
        good &= cargo.status().map_err(|e| format!("cargo: {e}"))?.success();
    }
    Ok(good)
}
