//! The corpora of the fuzz targets, and whatever other octets lie beside the project, through the same functions.

use std::path::{Path, PathBuf};
use trunkline_cache::exercise;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn replay(folder: &Path, run: fn(&[u8])) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if let Ok(octets) = std::fs::read(entry.path()) {
            run(&octets);
            count += 1;
        }
    }
    count
}

#[test]
fn corpora() {
    let corpus = root().join("fuzz/corpus");
    assert!(replay(&corpus.join("cache_text"), exercise::text) > 0);
    assert!(replay(&corpus.join("cache_meta"), exercise::meta) > 0);
    assert!(replay(&corpus.join("cache_binary"), exercise::binary) > 0);
    assert!(replay(&corpus.join("cache_udp"), exercise::udp) > 0);
    assert!(replay(&corpus.join("cache_route_answer"), exercise::route_answer) > 0);
    assert!(replay(&corpus.join("cache_route_client"), exercise::route_client) > 0);
    assert!(replay(&corpus.join("cache_image"), exercise::image) > 0);
    assert!(replay(&corpus.join("cache_peer"), exercise::peer) > 0);
}

#[test]
fn octets_of_others() {
    let shared = std::env::var_os("TRUNKLINE_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    let seeds = shared.join("fuzz-seeds/memcached");
    let runs = [
        exercise::text,
        exercise::meta,
        exercise::binary,
        exercise::udp,
        exercise::route_answer,
        exercise::route_client,
    ];
    if runs.iter().map(|run| replay(&seeds, *run)).sum::<usize>() == 0 {
        println!("SKIPPED: no shared seeds");
    }
}
