//! The corpora of the fuzz targets.

use std::path::Path;
use trunkline_replica::exercise;

fn replay(target: &str, run: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = std::fs::read_dir(corpus).expect("the corpus").flatten();
    let inputs: Vec<Vec<u8>> = files.map(|file| std::fs::read(file.path()).expect("an input")).collect();
    assert!(inputs.len() >= 4);
    for whole in &inputs {
        run(whole);
        let mut changed = whole.clone();
        for at in 0..whole.len() {
            run(&whole[..at]);
            for octet in [0, 1, 0x7f, 0xff, whole[at] ^ 1, whole[at].wrapping_add(1)] {
                changed[at] = octet;
                run(&changed);
            }
            changed[at] = whole[at];
        }
    }
}

#[test]
fn corpora() {
    replay("replica_message", exercise::message);
    replay("replica_reply", exercise::reply);
}
