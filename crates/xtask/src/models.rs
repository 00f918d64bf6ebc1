//! `cargo xtask loom [NAME ...]`: the models of what threads meet at, under loom, with the code itself; and
//! `cargo xtask loom --breaks [WORD ...]`: the same with the code broken on purpose, so that models must fail.

pub mod breaks;
mod trial;

use crate::repository::{self, Repository};
use std::process::Command;

/// Models of one crate.
pub struct Models {
    /// The crate's folder below the root.
    pub folder: &'static str,
    /// Where the models stand, below the root.
    pub source: &'static str,
    /// The list of deliberate breaks that they must find, below the root.
    pub breaks: &'static str,
    package: &'static str,
    /// How cargo finds the program that they are tests of.
    target: &'static [&'static str],
    /// What stands before the name of each model.
    path: &'static str,
    /// Preemptions that are tried, unless the environment says how many; none where each model says so itself.
    preemptions: Option<&'static str>,
}

/// All models.
pub const MODELS: [Models; 2] = [
    Models {
        folder: "crates/cache",
        source: "crates/cache/tests/loom/main.rs",
        breaks: "crates/cache/tests/loom/breaks.toml",
        package: "trunkline-cache",
        target: &["--test", "loom"],
        path: "",
        preemptions: None,
    },
    Models {
        folder: "crates/net",
        source: "crates/net/src/models.rs",
        breaks: "crates/net/src/models/breaks.toml",
        package: "trunkline-net",
        target: &["--lib"],
        path: "models::tests::",
        // Without a bound, four mails of two senders take more than minutes.
        preemptions: Some("2"),
    },
];

/// Runs them all, or those with a name; or tries the breaks, all or those with one of the words.
///
/// # Errors
/// cargo does not start, or the sources cannot be copied.
pub fn command(repository: &Repository, options: &[String]) -> Result<bool, String> {
    if let Some((_, words)) = options.split_first().filter(|(first, _)| *first == "--breaks") {
        return trial::command(repository, words);
    }
    let mut good = true;
    for models in &MODELS {
        let mut cargo = models.cargo();
        cargo.current_dir(repository.path(".")).arg("--quiet");
        if !models.path.is_empty() {
            cargo.arg(models.path);
        }
        cargo.arg("--").args(options);
        good &= cargo.status().map_err(|e| format!("cargo: {e}"))?.success();
    }
    Ok(good)
}

impl Models {
    /// `cargo test` as models are built.
    fn cargo(&self) -> Command {
        // Flags that are set for the whole workspace stay, so that what is built for models is built with them, too.
        let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
        let mut cargo = repository::cargo();
        cargo.env("RUSTFLAGS", format!("{flags} --cfg loom"));
        self.bound(&mut cargo);
        cargo.args(["test", "--locked", "--profile", "models", "--package", self.package]).args(self.target);
        cargo
    }

    fn bound(&self, command: &mut Command) {
        let preemptions = self.preemptions.filter(|_| std::env::var_os("LOOM_MAX_PREEMPTIONS").is_none());
        preemptions.into_iter().for_each(|count| {
            command.env("LOOM_MAX_PREEMPTIONS", count);
        });
    }
}
