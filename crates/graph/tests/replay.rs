//! The corpora of the fuzz targets, replayed.

use std::path::Path;
use trunkline_graph::exercise;

fn replay(target: &str, run: fn(&[u8])) -> usize {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = std::fs::read_dir(corpus).unwrap().flatten();
    files.map(|file| run(&std::fs::read(file.path()).unwrap())).count()
}

#[test]
fn nothing_in_the_corpora_does_harm() {
    for (target, run) in [
        ("graph_template", exercise::template as fn(&[u8])),
        ("graph_entry", exercise::entry),
        ("graph_snapshot", exercise::snapshot),
        ("graph_dump", exercise::dump),
        ("graph_xml", exercise::xml),
    ] {
        assert!(replay(target, run) > 0, "{target}");
    }
}
