//! The corpora of the fuzz targets.

use std::path::Path;
use trunkline_charge::exercise;

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = std::fs::read_dir(corpus).into_iter().flatten().flatten();
    files.filter_map(|file| std::fs::read(file.path()).ok()).collect()
}

/// All of them as they are, cut off, and with each of their octets another one.
fn replay(target: &str, run: fn(&[u8])) -> usize {
    let inputs = corpus(target);
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
    inputs.len()
}

#[test]
fn corpora() {
    assert!(replay("charge_bill", exercise::bill) > 0);
    assert!(replay("charge_entry", exercise::entry) > 0);
    assert!(replay("charge_snapshot", exercise::snapshot) > 0);
    assert!(replay("charge_gateway", exercise::gateway) > 0);
    assert!(replay("charge_quota", exercise::quota) > 0);
    assert!(replay("charge_records", exercise::records_state) > 0);
}

/// What is read of a text: as it is, cut off, and with some octets another one.
#[test]
fn texts() {
    for (target, run) in [("charge_plan", exercise::plan as fn(&[u8])), ("charge_control", exercise::control)] {
        let inputs = corpus(target);
        assert!(!inputs.is_empty());
        for whole in &inputs {
            let mut changed = whole.clone();
            for at in (0..whole.len()).step_by(1 + whole.len() / 100) {
                run(&whole[..at]);
                for octet in [b'"', b'0', whole[at] ^ 1] {
                    changed[at] = octet;
                    run(&changed);
                }
                changed[at] = whole[at];
            }
            run(whole);
        }
    }
}
