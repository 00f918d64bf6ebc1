//! The fuzz targets' corpora, replayed.

mod support;

use std::path::Path;
use trunkline_wire::exercise;

#[test]
fn corpora_of_packets() {
    let targets: [(&str, fn(&[u8])); 4] = [
        ("wire_decode", exercise::decode),
        ("wire_ip_reassembly", exercise::ip_reassembly),
        ("wire_tcp_reassembly", exercise::tcp_reassembly),
        ("wire_sctp", exercise::sctp),
    ];
    for (name, target) in targets {
        let mut files = Vec::new();
        support::walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name), &mut files);
        assert!(!files.is_empty(), "{name} has no corpus");
        files.iter().filter_map(|file| std::fs::read(file).ok()).for_each(|octets| target(&octets));
    }
}
