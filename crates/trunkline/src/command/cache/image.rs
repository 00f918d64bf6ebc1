//! `-e FILE`: the items between two runs, and what is told about them.

use crate::bar::Bar;
use crate::failure::Failure;
use std::path::Path;
use std::time::{Duration, Instant};
use trunkline_cache::job::{ImageFailed, ImageFile, Job, Opened, Recalled, Saved};
use trunkline_kit::exit::Exit;

/// Claims the file, before anything is served.
///
/// # Errors
/// It cannot be had.
pub fn claim(path: &Path) -> Result<ImageFile, Failure> {
    ImageFile::claim(path).map_err(failure)
}

/// Reads what the last run left, and tells it. [`Exit::Degraded`] if some of it was lost.
///
/// # Errors
/// There is a file, and it is none of ours or cannot be taken away.
pub fn recall(opened: &mut Opened, file: &ImageFile) -> Result<Exit, Failure> {
    let (began, mut bar, path) = (Instant::now(), Bar::start(), file.path().display());
    let recalled = opened.recall(file, &mut |done, total| bar.draw(done, total, || format!("reading {path}")));
    bar.end();
    let Some(recalled) = recalled.map_err(failure)? else {
        eprintln!("trunkline cache: {path}: no items of an earlier run: cold start");
        return Ok(Exit::Done);
    };
    eprintln!("trunkline cache: {path}: {}", recalled_line(&recalled, began.elapsed()));
    let Some((at, spoilt)) = &recalled.wrong else { return Ok(Exit::Done) };
    let lost = recalled.blocks_lost;
    eprintln!("trunkline cache: {path}: octet {at}: {spoilt}; what is whole was taken, {lost} blocks were not");
    Ok(Exit::Degraded)
}

/// Writes the items for the next run, and tells it. [`Exit::Degraded`] if they could not be written.
pub fn save(job: &Job, file: ImageFile) -> Exit {
    let (began, mut bar, path) = (Instant::now(), Bar::start(), file.path().to_owned());
    let path = path.display();
    let saved = job.save(file, &mut |done, total| bar.draw(done, total, || format!("writing {path}")));
    bar.end();
    match saved {
        Ok(Saved { items, octets }) => {
            eprintln!("trunkline cache: {path}: wrote {}", amount(items, octets, began.elapsed()));
            Exit::Done
        }
        Err(failed) => {
            eprintln!("trunkline cache: {failed}; the items are lost, the next start is a cold one");
            Exit::Degraded
        }
    }
}

fn failure(failed: ImageFailed) -> Failure {
    Failure::Failed(format!("-e {failed}"))
}

fn amount(items: u64, octets: u64, passed: Duration) -> String {
    format!("{items} items, {:.1} MiB, in {:.1} s", octets as f64 / f64::from(1 << 20), passed.as_secs_f64())
}

fn recalled_line(recalled: &Recalled, passed: Duration) -> String {
    let mut line = format!("read {}", amount(recalled.items, recalled.octets, passed));
    let expired = if recalled.undated { "with an end, and the clock went backwards" } else { "expired" };
    let left_out =
        [(recalled.expired, expired), (recalled.no_room, "without room (-m)"), (recalled.too_large, "too large (-I)")];
    for (items, why) in left_out.into_iter().filter(|(items, _)| *items > 0) {
        line.push_str(&format!("; left out {items} {why}"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_was_left_out_and_why() {
        let recalled = Recalled { items: 5, octets: 3 << 19, no_room: 2, too_large: 1, ..Recalled::default() };
        let line = "read 5 items, 1.5 MiB, in 0.3 s; left out 2 without room (-m); left out 1 too large (-I)";
        assert_eq!(recalled_line(&recalled, Duration::from_millis(300)), line);
        let undated = Recalled { expired: 3, undated: true, ..Recalled::default() };
        assert!(
            recalled_line(&undated, Duration::ZERO).ends_with("; left out 3 with an end, and the clock went backwards")
        );
    }
}
