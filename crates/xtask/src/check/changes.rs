//! The files that changed, as git knows them.

use crate::repository::Repository;
use std::collections::BTreeSet;
use std::process::Command;

/// Files that changed, and since when.
pub struct Changes {
    /// Relative to the root, sorted; also those that are gone.
    pub paths: Vec<String>,
    /// What the files of the working tree were compared with.
    pub compared_with: String,
}

impl Changes {
    /// What the working tree has changed since the branch left its upstream; of the last commit if that is nothing.
    ///
    /// # Errors
    /// git is missing, this is no git repository, or it has no commit.
    pub fn find(repository: &Repository) -> Result<Self, String> {
        let upstream = ["@{upstream}", "origin/main"]
            .into_iter()
            .find_map(|name| git(repository, &["rev-parse", "--verify", "--quiet", "--abbrev-ref", name]).ok());
        let upstream = upstream.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        let base = upstream.as_deref().and_then(|name| git(repository, &["merge-base", "HEAD", name]).ok());
        let (base, compared_with) = match (base, upstream) {
            (Some(base), Some(name)) => {
                let base = base.trim().to_owned();
                let short = base.chars().take(8).collect::<String>();
                (base, format!("{short}, where the branch left {name}"))
            }
            _ => ("HEAD".to_owned(), "the last commit (there is no upstream)".to_owned()),
        };
        let changed = git(repository, &["diff", "--name-only", "--no-renames", "-z", &base])?;
        let untracked = git(repository, &["ls-files", "--others", "--exclude-standard", "-z"])?;
        let paths = sorted(&(changed + &untracked));
        if !paths.is_empty() {
            return Ok(Changes { paths, compared_with });
        }
        let last = ["show", "-m", "--first-parent", "--name-only", "--no-renames", "--format=", "-z", "HEAD"];
        let compared_with =
            "the commit before the last one: nothing changed since, so the last commit is checked".to_owned();
        Ok(Changes { paths: sorted(&git(repository, &last)?), compared_with })
    }
}

/// Names with a NUL behind each.
fn sorted(names: &str) -> Vec<String> {
    let names: BTreeSet<&str> = names.split(['\0', '\n']).filter(|name| !name.is_empty()).collect();
    names.into_iter().map(str::to_owned).collect()
}

fn git(repository: &Repository, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git").args(arguments).current_dir(repository.path("")).output();
    let output = output.map_err(|error| format!("git: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim())),
    }
}
