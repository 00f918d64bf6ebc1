//! The corpora of the fuzz targets.

use std::path::Path;
use trunkline_web::exercise;

/// All of them as they are, cut off, and with some of their octets another one.
fn replay(target: &str, run: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = std::fs::read_dir(corpus).expect("the corpus").flatten();
    let inputs: Vec<Vec<u8>> = files.map(|file| std::fs::read(file.path()).expect("an input")).collect();
    assert!(inputs.len() > 10);
    for whole in &inputs {
        run(whole);
        let mut changed = whole.clone();
        // Signatures take their time.
        for at in (0..whole.len()).step_by(1 + whole.len() / 200) {
            run(&whole[..at]);
            for octet in [b'"', whole[at] ^ 1] {
                changed[at] = octet;
                run(&changed);
            }
            changed[at] = whole[at];
        }
    }
}

#[test]
fn forwarded() {
    replay("web_forwarded", exercise::forwarded);
}

#[test]
fn keys() {
    replay("web_keys", exercise::keys);
}

#[test]
fn tokens() {
    replay("web_token", exercise::token);
}
