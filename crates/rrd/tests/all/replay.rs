//! Runs the inputs of the fuzz targets through what they drive.

use std::path::Path;

use trunkline_rrd::exercise;

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = std::fs::read_dir(corpus).into_iter().flatten().flatten();
    files.filter_map(|file| std::fs::read(file.path()).ok()).collect()
}

#[test]
fn files_of_any_octets_do_no_harm() {
    let inputs = corpus("rrd_file");
    assert!(!inputs.is_empty());
    for octets in inputs {
        exercise::file(&octets);
        // Each one cut, and with an octet changed here and there.
        for at in (0..octets.len()).step_by(7) {
            exercise::file(&octets[..at]);
            let mut other = octets.clone();
            other[at] ^= 0x81;
            exercise::file(&other);
            other[at] = 0xff;
            exercise::file(&other);
        }
    }
}

#[test]
fn expressions_of_any_text_do_no_harm() {
    let inputs = corpus("rrd_rpn");
    assert!(!inputs.is_empty());
    for text in inputs {
        exercise::expression(&text);
        for at in 0..text.len() {
            let mut other = text.clone();
            other.remove(at);
            exercise::expression(&other);
        }
    }
}

#[test]
fn redo_files_of_any_octets_do_no_harm() {
    let inputs = corpus("rrd_redo");
    assert!(inputs.len() > 3);
    for octets in inputs {
        for at in 0..octets.len() {
            exercise::redo(&octets[..at]);
            let mut other = octets.clone();
            for octet in [0, 1, 0xff, octets[at] ^ 1] {
                other[at] = octet;
                exercise::redo(&other);
            }
        }
        exercise::redo(&octets);
    }
}
