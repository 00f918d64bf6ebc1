//! Replays the fuzz corpus of the stream analysis through the function of its fuzz target.

#[test]
fn the_corpus_keeps_the_invariants() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/calls_stream");
    for file in std::fs::read_dir(corpus).unwrap() {
        trunkline_calls::exercise::stream(&std::fs::read(file.unwrap().path()).unwrap());
    }
}
