//! The README's picture: what `trunkline call` prints, in colours, as an SVG: `cargo xtask picture`.
//!
//! It is a real output of a seeded world, so it is made again whenever the output changes, and is the same each time.

mod ansi;
mod svg;

use crate::repository::Repository;
use std::path::Path;
use std::process::Command;

/// The picture, relative to the root.
pub const PATH: &str = "docs/call.svg";
/// Columns of the terminal in the picture: what a README shows without shrinking.
const COLUMNS: &str = "80";
/// The world, and the calls in it that the picture may show: the first one is taken.
const WORLD: [&str; 7] = ["sim", "--preset", "demo", "--seed", "1", "-w", "world.pcap"];
/// Audio in one direction, because an address was not translated.
const FILTER: &str = "verdict:one-way-audio and state:completed";

/// Writes docs/call.svg; true when it is done.
///
/// # Errors
/// An option was given, the program cannot be built or run, or the file cannot be written.
pub fn command(repository: &Repository, options: &[String]) -> Result<bool, String> {
    if !options.is_empty() {
        return Err("picture takes no options".to_owned());
    }
    let program = crate::bench::build(repository)?;
    let folder = repository.path("target/picture");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    run(&program, &folder, &WORLD)?;
    run(&program, &folder, &["read", "world.pcap"])?;
    let id = shown_call(&program, &folder)?;
    let page = run(&program, &folder, &["call", &id, "--color", "always"])?;
    let text = svg::picture(&format!("trunkline call {id}"), &ansi::lines(&without_files(&page)));
    std::fs::write(repository.path(PATH), text).map_err(|e| format!("{PATH}: {e}"))?;
    println!("{PATH} shows call {id}");
    Ok(true)
}

/// The page without the name of the capture, which is of no interest and differs from machine to machine.
fn without_files(page: &str) -> Vec<&str> {
    let mut inside = false;
    let keep = |line: &&str| {
        let text = ansi::plain(line);
        inside = text.starts_with("Files ") || inside && text.starts_with(' ');
        !inside
    };
    page.lines().filter(keep).collect()
}

/// The beginning of an ID, as long as lists show it.
fn shown_call(program: &Path, folder: &Path) -> Result<String, String> {
    let ids = run(program, folder, &["calls", FILTER, "--csv", "--sort", "oldest"])?;
    let id = ids.lines().filter(|line| line.contains("NAT")).find_map(|line| line.get(..18));
    id.map(str::to_owned).ok_or_else(|| format!("no call of the world passes '{FILTER}'"))
}

fn run(program: &Path, folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env_remove("NO_COLOR");
    command.env("COLUMNS", COLUMNS).env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
    let output = command.output().map_err(|e| format!("{}: {e}", program.display()))?;
    match output.status.code() {
        Some(0 | 3) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        code => Err(format!("{arguments:?} ended with {code:?}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_of_this_machine_is_in_the_picture() {
        let page = "Capture   complete\n\x1b[2mFiles\x1b[0m     /captures/of/\n          world.pcap\n\nStreams\n";
        assert_eq!(without_files(page), ["Capture   complete", "", "Streams"]);
    }
}
