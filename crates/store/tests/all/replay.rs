//! The corpora of the fuzz targets, and whatever other octets lie beside the project, through the same functions.

use std::path::{Path, PathBuf};
use trunkline_store::exercise;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn replay(folder: &Path, run: fn(&[u8])) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            count += replay(&path, run);
        } else if let Ok(octets) = std::fs::read(&path) {
            run(&octets);
            count += 1;
        }
    }
    count
}

#[test]
fn corpora() {
    assert!(replay(&root().join("fuzz/corpus/store_filter"), exercise::filter) > 0);
    assert!(replay(&root().join("fuzz/corpus/store_ladder"), exercise::ladder) > 0);
    assert!(replay(&root().join("fuzz/corpus/store_journal"), exercise::journal) > 0);
    assert!(replay(&root().join("fuzz/corpus/store_gists"), exercise::gists) > 0);
    assert!(replay(&root().join("fuzz/corpus/store_cursor"), exercise::cursor) > 0);
}

#[test]
fn octets_of_other_protocols() {
    let shared = std::env::var_os("TRUNKLINE_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    let seeds = shared.join("fuzz-seeds");
    replay(&seeds, exercise::gists);
    if replay(&seeds, exercise::filter) + replay(&seeds, exercise::ladder) + replay(&seeds, exercise::journal) == 0 {
        println!("SKIPPED: no shared captures");
    }
}
