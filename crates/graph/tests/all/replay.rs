//! The corpora of the fuzz targets, replayed.

use std::path::Path;
use trunkline_graph::exercise;

/// A target's name, and what it drives.
type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 10] = [
    ("graph_template", exercise::template),
    ("graph_entry", exercise::entry),
    ("graph_snapshot", exercise::snapshot),
    ("graph_dump", exercise::dump),
    ("graph_xml", exercise::xml),
    ("graph_metrics", exercise::metrics),
    ("graph_probe", exercise::probe),
    ("graph_journal", exercise::journal),
    ("graph_around", exercise::around),
    ("graph_control", exercise::control),
];

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(corpus).unwrap().flatten().map(|file| file.path()).collect();
    files.sort();
    files.into_iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn nothing_in_the_corpora_does_harm() {
    for (target, run) in TARGETS {
        let inputs = corpus(target);
        assert!(!inputs.is_empty(), "{target}");
        inputs.iter().for_each(|input| run(input));
    }
}

proptest::proptest! {
    /// Nor does what is near them: octets changed, cut out and doubled.
    #[test]
    fn nothing_near_the_corpora_does_harm(
        target in 0usize..10, file in 0usize..16,
        edits in proptest::collection::vec((proptest::num::usize::ANY, 0u8..4, proptest::num::u8::ANY), 1..6),
    ) {
        let (name, run) = TARGETS[target];
        let files = corpus(name);
        let mut octets = files[file % files.len()].clone();
        for (at, edit, octet) in edits {
            let at = at % octets.len().max(1);
            match edit {
                0 => octets.iter_mut().skip(at).take(1).for_each(|there| *there = octet),
                1 => drop(octets.splice(at.min(octets.len())..at.min(octets.len()), [octet])),
                2 => drop(octets.drain(at..(at + usize::from(octet)).min(octets.len()))),
                _ => octets.extend_from_within(at..(at + usize::from(octet)).min(octets.len())),
            }
        }
        run(&octets);
    }
}
