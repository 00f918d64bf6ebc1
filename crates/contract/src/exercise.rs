//! What the fuzz target drives.

use super::frame::{self, ASK_OCTETS_MAX, Fault};
use super::{Contract, Refusal, graph};

/// A stream of frames: no octets do harm; what is an ask or an answer is the same after it was sent again.
pub fn frames(octets: &[u8]) {
    let mut reads = octets;
    let _ = frame::met(&mut { reads }, graph::Graphs::VERSION);
    loop {
        match frame::receive(&mut reads, ASK_OCTETS_MAX) {
            Ok(Some(value)) => {
                again::<graph::Ask>(&value);
                again::<Result<graph::Answer, Refusal>>(&value);
            }
            Ok(None) | Err(Fault::Io(_)) => return,
            Err(fault) => {
                assert!(matches!(fault, Fault::TooLong { .. }));
                return;
            }
        }
    }
}

fn again<T: serde::Serialize + serde::de::DeserializeOwned>(octets: &[u8]) {
    let Ok(value) = frame::decode::<T>(octets) else { return };
    let Ok(sent) = frame::encode(&value) else { panic!("a value that was read cannot be written") };
    let Ok(received) = frame::decode::<T>(&sent) else { panic!("a value that was written cannot be read") };
    assert!(frame::encode(&received).is_ok_and(|again| again == sent));
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_in_the_corpus_does_harm() {
        let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/contract_frame");
        let files: Vec<_> = std::fs::read_dir(corpus).unwrap().flatten().map(|file| file.path()).collect();
        assert!(!files.is_empty());
        files.iter().for_each(|file| super::frames(&std::fs::read(file).unwrap()));
    }
}
