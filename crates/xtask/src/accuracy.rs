//! Our figures against other programs' on the reference captures: `cargo xtask accuracy [--write]`.
//!
//! The captures and the oracle's results lie beside the repository (`Repository::shared`). Each difference needs its
//! explanation in docs/accuracy-notes.toml; one without, and an explanation without its difference, is a failure.

mod compare;
mod figures;
mod notes;
mod oracle;
mod report;
mod rtpproxy;
mod run;
mod seeds;
mod torture;

use crate::repository::Repository;
use compare::Comparison;
use notes::Notes;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Compares every capture; true if there is no difference without an explanation.
///
/// # Errors
/// A wrong option, the program cannot be built, or the oracle's results cannot be read.
pub fn command(repository: &Repository, options: &[String]) -> Result<bool, String> {
    let write = match options {
        [] => false,
        [write] if write == "--write" => true,
        _ => return Err("the only option is --write".to_owned()),
    };
    let Some(shared) = repository.shared() else {
        println!("accuracy: skipped: no shared captures");
        return Ok(true);
    };
    let program = run::build(repository)?;
    let expected = oracle::read(&shared)?;
    let mut comparisons = side_by_side(&expected, |e| compare::compare(e, &run::read(&program, &shared.join(&e.file))));
    rtpproxy::add(&shared, &mut comparisons)?;
    let mut notes = Notes::read(&repository.path(notes::PATH))?;
    let unexplained = explain(&mut comparisons, &mut notes);
    let stale = notes.unused();
    let (torture, seeds) = (torture::judge(repository, &shared)?, seeds::read(&program, &shared)?);
    let found = report::Found { comparisons: &comparisons, torture: &torture, seeds: &seeds };
    if write {
        let text = report::markdown(&found);
        std::fs::write(repository.path(report::PATH), text).map_err(|e| format!("{}: {e}", report::PATH))?;
    }
    print!("{}", report::summary(&found));
    let misjudged: Vec<_> = torture.iter().filter(|m| !m.agrees()).collect();
    for message in &misjudged {
        println!("{}: {}: {}, not {}", message.standard, message.file, message.ours, message.theirs);
    }
    for failure in &seeds.failures {
        println!("{failure}");
    }
    for note in &stale {
        println!("stale: {}: '{}': {} explains no difference", note.file, note.what, notes::PATH);
    }
    if !unexplained.is_empty() {
        println!("\n# For {}, once each is understood:\n{}", notes::PATH, unexplained.concat());
    }
    println!("accuracy: {} unexplained, {} stale", unexplained.len(), stale.len());
    Ok(unexplained.is_empty() && stale.is_empty() && misjudged.is_empty() && seeds.failures.is_empty())
}

/// Does the work on all items, two at a time; the results in their order.
fn side_by_side<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let sender = sender.clone();
            scope.spawn(|| {
                let sender = sender;
                while let Some((index, item)) = take(&next, items) {
                    if sender.send((index, work(item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut found: Vec<_> = receiver.iter().collect();
        found.sort_by_key(|(index, _)| *index);
        found.into_iter().map(|(_, result)| result).collect()
    })
}

fn take<'a, T>(next: &AtomicUsize, all: &'a [T]) -> Option<(usize, &'a T)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((index, all.get(index)?))
}

/// Attaches the explanations to the differences; gives a template for each difference without one.
fn explain(comparisons: &mut [Comparison], notes: &mut Notes) -> Vec<String> {
    let mut templates = Vec::new();
    for comparison in comparisons {
        for difference in &mut comparison.differences {
            difference.note = notes.find(&comparison.file, difference);
            if difference.note.is_none() {
                templates.push(notes::template(&comparison.file, difference));
            }
        }
    }
    templates
}
