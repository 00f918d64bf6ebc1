//! The fuzz targets' corpora, replayed.

use std::path::Path;
use trunkline_wire::exercise;

/// A fuzz target and what it drives.
type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 9] = [
    ("wire_decode", exercise::decode),
    ("wire_cdr", exercise::cdr),
    ("wire_diameter", exercise::diameter),
    ("wire_gtpp", exercise::gtpp),
    ("wire_ldap", exercise::ldap),
    ("wire_nats", exercise::nats),
    ("wire_ip_reassembly", exercise::ip_reassembly),
    ("wire_tcp_reassembly", exercise::tcp_reassembly),
    ("wire_sctp", exercise::sctp),
];

#[test]
fn corpora_of_packets() {
    for (name, target) in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
        let files: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().collect();
        assert!(!files.is_empty(), "{name} has no corpus");
        files.iter().filter_map(|file| std::fs::read(file.path()).ok()).for_each(|octets| target(&octets));
    }
}
