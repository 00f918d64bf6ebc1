//! What is seen of a damaged folder, beside what is seen of the whole one.

use super::kinds::{Kind, Mend};
use super::look::{self, Seen, Verified};
use super::world::World;
use crate::wire::text;
use std::path::Path;

/// What a damage comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// By `trunkline verify --deep`.
    pub verify: String,
    /// By a run; none if there was none.
    pub run: Option<String>,
    /// Whether what can be done about it works; none if nothing had to be done.
    pub mended: Option<String>,
    /// What breaks the rules.
    pub broken: Vec<String>,
    /// What was said, for whoever reads what the walk prints.
    pub told: Vec<String>,
}

/// Who compares with the whole folder.
pub struct Judge<'a> {
    pub world: &'a World,
    verified: Verified,
    seen: Seen,
}

impl<'a> Judge<'a> {
    /// Looks at the whole folder.
    pub fn new(world: &'a World) -> Judge<'a> {
        world.restore();
        let verified = look::verify(world);
        let wrong: Vec<_> = verified.iter().filter(|(_, found)| is_wrong(&found.0)).collect();
        assert!(wrong.is_empty(), "the whole folder is damaged: {wrong:#?}");
        let seen = look::run(world);
        println!("the whole folder: {seen:#?}");
        assert!(seen.began && seen.jobs.len() == 7, "{seen:#?}");
        Judge { world, verified, seen }
    }

    /// What the damage of a file comes to.
    pub fn cell(&self, kind: &Kind, file: &str, runs: bool) -> Cell {
        let (verify, mut told) = self.checked(file, &look::verify(self.world));
        let mut cell = Cell { verify, run: None, mended: None, broken: Vec::new(), told: Vec::new() };
        if cell.verify == "whole" {
            cell.broken.push("verify calls a damaged file whole".to_owned());
        }
        if runs {
            let seen = look::run(self.world);
            let (run, broken) = self.ran(file, &seen);
            let stopped = run.contains("stopped") || run.contains("ends");
            told.extend(self.news(&seen).into_iter().cloned());
            cell.run = Some(run);
            cell.broken.extend(broken);
            if stopped || is_wrong(&cell.verify) && kind.mend != Mend::Itself {
                cell.mended = self.mended(kind, file);
            }
        }
        cell.told = told;
        cell
    }

    /// What a check comes to, in a word or two.
    fn checked(&self, file: &str, found: &Verified) -> (String, Vec<String>) {
        let news: Vec<_> = found.iter().filter(|(path, item)| is_wrong(&item.0) && !self.was_wrong(path)).collect();
        let told = news.iter().map(|(path, item)| format!("verify: {path}: {}: {}", item.0, item.1)).collect();
        let of_file = |path: &str| belongs(path, file);
        if let Some((_, item)) = news.iter().find(|(path, _)| of_file(path)) {
            return (item.0.clone(), told);
        }
        if !news.is_empty() {
            return ("told of another file".to_owned(), told);
        }
        let word = match found.iter().find(|(path, _)| of_file(path)) {
            None => "not listed",
            Some((_, (outcome, _, left_out))) if outcome == "whole" && *left_out => "not seen",
            Some((_, (outcome, ..))) if outcome == "could not be checked" => "no check",
            Some((_, (outcome, ..))) => outcome,
        };
        (word.to_owned(), told)
    }

    fn was_wrong(&self, path: &str) -> bool {
        self.verified.get(path).is_some_and(|item| is_wrong(&item.0))
    }

    /// What a run says beyond what it says of the whole folder.
    fn news<'s>(&self, seen: &'s Seen) -> Vec<&'s String> {
        let said = seen.said.iter().filter(|(plain, _)| !self.seen.said.contains_key(*plain));
        let unhealthy = seen.unhealthy.iter().filter(|(plain, _)| !self.seen.unhealthy.contains_key(*plain));
        said.chain(unhealthy).map(|(_, line)| line).collect()
    }

    /// What a run comes to, in a few words, and what of it breaks the rules.
    fn ran(&self, file: &str, seen: &Seen) -> (String, Vec<String>) {
        let (mut words, mut broken) = (Vec::new(), Vec::new());
        if !seen.began {
            broken.push("the whole run ends".to_owned());
            return (format!("the run ends ({})", seen.code), broken);
        }
        let news = self.news(seen);
        let stopped: Vec<_> = self.seen.jobs.difference(&seen.jobs).copied().collect();
        for job in &stopped {
            words.push(format!("{job} stopped"));
            if seen.unhealthy.is_empty() {
                broken.push(format!("{job} stopped, and it is healthy"));
            }
        }
        if stopped.len() > 1 {
            broken.push("more than one job stopped".to_owned());
        }
        // The web has no metrics of its own.
        if seen.unhealthy.values().any(|line| line.starts_with("the web stays stopped")) {
            words.push("the web stopped".to_owned());
        }
        let named = news.iter().any(|line| names(line, file));
        match (named, news.is_empty()) {
            (true, _) => words.push("told".to_owned()),
            (false, false) => words.push("told without its name".to_owned()),
            (false, true) => {}
        }
        if !stopped.is_empty() && !named {
            broken.push("a job stopped, and nobody says by which file".to_owned());
        }
        for (what, count) in &seen.held {
            match (self.seen.held[what], count) {
                _ if *what == "devices" && stopped.contains(&"graphs") => {}
                _ if *what == "alerts" && stopped.contains(&"alerts") => {}
                (Some(before), Some(now)) if *now < before => {
                    words.push(format!("fewer {what}"));
                    if news.is_empty() {
                        broken.push(format!("fewer {what} without a word"));
                    }
                }
                (Some(_), None) => words.push(format!("who reads {what} is told")),
                _ => {}
            }
        }
        (if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }, broken)
    }

    /// Whether what can be done works: then a run is as it was with the whole folder.
    fn mended(&self, kind: &Kind, file: &str) -> Option<String> {
        let (path, folder) = (self.world.folder().join(file), self.world.folder());
        match kind.mend {
            Mend::Backup => return None,
            Mend::Itself => {}
            Mend::Command(words) => {
                let done = self.world.ask(words);
                if !matches!(done.status.code(), Some(0 | 3)) {
                    return Some(format!("fails: {}", String::from_utf8_lossy(&done.stderr)));
                }
            }
            Mend::Remove => {
                let _absent = std::fs::remove_file(&path);
            }
            Mend::Aside => {
                let beside = folder.join("aside");
                std::fs::rename(path.parent().unwrap(), &beside).unwrap();
            }
        }
        let seen = look::run(self.world);
        let well = seen.began && seen.jobs == self.seen.jobs && seen.unhealthy.len() <= self.seen.unhealthy.len();
        Some(if well { "works".to_owned() } else { format!("does not work: {:?}", self.news(&seen)) })
    }
}

fn is_wrong(outcome: &str) -> bool {
    outcome == "damaged" || outcome == "unreadable"
}

/// Whether what is said of a path is said of a file: of its log, of its segment, of what it lies beside.
fn belongs(path: &str, file: &str) -> bool {
    let stem = |path: &str| {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        // The name of a segment of another lane has dots.
        let ends = [".pcapng.zst", ".pcapng.part", ".pcapng", ".idx", ".sums", ".sqlite-wal", ".sqlite-shm", ".sqlite"];
        let name = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        format!("{folder}/{name}")
    };
    path == file || stem(path) == stem(file) || Path::new(file).parent().is_some_and(|folder| text(folder) == path)
}

/// Whether a line says which file it is about: by its name, or by the path of a folder that it lies in.
fn names(line: &str, file: &str) -> bool {
    let name = file.rsplit_once('/').map_or(file, |(_, name)| name);
    // An index that is found alone stands for its segment.
    let name = name.split_once("pcapng").map_or(name, |(stem, _)| stem);
    let mut folders = Path::new(file).ancestors().skip(1).filter(|folder| folder.components().count() > 1);
    line.contains(name) || folders.any(|folder| line.contains(&format!("{}: ", text(folder))))
}
