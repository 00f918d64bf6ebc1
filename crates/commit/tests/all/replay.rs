//! The corpus of the fuzz target, as it is, cut off, and with each octet another one.

use std::path::Path;
use trunkline_commit::exercise;

#[test]
fn corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/commit_segment");
    let files = std::fs::read_dir(corpus).expect("the corpus").flatten();
    let inputs: Vec<Vec<u8>> = files.map(|file| std::fs::read(file.path()).expect("an input")).collect();
    assert!(inputs.len() >= 4);
    for whole in &inputs {
        exercise::segment(whole);
        let mut changed = whole.clone();
        for at in 0..whole.len() {
            exercise::segment(&whole[..at]);
            for octet in [0, 1, 0xff, whole[at] ^ 1] {
                changed[at] = octet;
                exercise::segment(&changed);
            }
            changed[at] = whole[at];
        }
    }
}
