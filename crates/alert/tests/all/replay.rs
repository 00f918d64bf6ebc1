//! The corpora of the fuzz targets.

use std::path::Path;
use trunkline_alert::exercise;

/// All of them as they are, cut off, and with each of their octets another one.
fn replay(target: &str, run: fn(&[u8])) -> usize {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = std::fs::read_dir(corpus).into_iter().flatten().flatten();
    let inputs: Vec<Vec<u8>> = files.filter_map(|file| std::fs::read(file.path()).ok()).collect();
    for whole in &inputs {
        run(whole);
        let mut changed = whole.clone();
        for at in 0..whole.len() {
            run(&whole[..at]);
            for octet in [0, b'0', b'"', whole[at] ^ 1, whole[at].wrapping_add(1)] {
                changed[at] = octet;
                run(&changed);
            }
            changed[at] = whole[at];
        }
    }
    inputs.len()
}

#[test]
fn corpora() {
    assert!(replay("alert_entries", exercise::entries) > 1);
    assert!(replay("alert_rules", exercise::rules) > 1);
    assert!(replay("alert_control", exercise::control) > 1);
    assert!(replay("alert_smtp", exercise::smtp) > 1);
}
