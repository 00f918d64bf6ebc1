//! The corpus of the fuzz target.

use std::path::Path;
use trunkline_replica::exercise;

#[test]
fn corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/replica_message");
    let files = std::fs::read_dir(corpus).expect("the corpus").flatten();
    let inputs: Vec<Vec<u8>> = files.map(|file| std::fs::read(file.path()).expect("an input")).collect();
    assert!(inputs.len() >= 4);
    for whole in &inputs {
        exercise::message(whole);
        let mut changed = whole.clone();
        for at in 0..whole.len() {
            exercise::message(&whole[..at]);
            for octet in [0, 1, 0x7f, 0xff, whole[at] ^ 1, whole[at].wrapping_add(1)] {
                changed[at] = octet;
                exercise::message(&changed);
            }
            changed[at] = whole[at];
        }
    }
}
