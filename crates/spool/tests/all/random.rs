//! Any mixture of appends, flushes and ends: the files are what was appended.

use crate::support;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use support::{files, options, volume};
use trunkline_spool::{Engine, Options, Priority, Spool};

#[derive(Clone, Copy, Debug)]
enum Doing {
    Append(usize),
    Flush,
    Seal,
    /// Lets the disk catch up.
    Settle,
}

fn doing() -> impl Strategy<Value = Doing> {
    prop_oneof![
        10 => (0..3000usize).prop_map(Doing::Append),
        1 => (0..200_000usize).prop_map(Doing::Append),
        2 => Just(Doing::Flush),
        1 => Just(Doing::Seal),
        1 => Just(Doing::Settle),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn files_hold_what_was_appended(
        doings in prop::collection::vec(doing(), 1..150), uring in any::<bool>(), block in 1..4usize,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let engine = if uring { Engine::Auto } else { Engine::Pwrite };
        let small = options(volume(folder.path())).memory(64 << 20);
        let options = Options { engine, block: 4096 * block * block, ..small };
        let (spool, _) = Spool::open(options).unwrap();
        let mut writer = spool.writer(Priority::Highest, 0);
        let mut expected: Vec<Vec<u8>> = Vec::new();
        let mut octet = 0u8;
        for doing in doings {
            match doing {
                Doing::Append(length) => {
                    if !writer.is_open() {
                        writer.begin(Path::new("a.seg")).unwrap();
                        expected.push(Vec::new());
                    }
                    let last = expected.last_mut().unwrap();
                    octet = octet.wrapping_add(1);
                    let part = vec![octet; length];
                    prop_assert_eq!(writer.append(0, &[&part, &[255]]).unwrap(), last.len() as u64);
                    last.extend_from_slice(&part);
                    last.push(255);
                }
                Doing::Flush => { writer.flush(); }
                Doing::Seal => {
                    writer.seal(Vec::new());
                    // The next name depends on whether this one is there.
                    prop_assert!(spool.settle(Duration::from_secs(60)));
                }
                Doing::Settle => prop_assert!(spool.settle(Duration::from_secs(60))),
            }
        }
        writer.seal(Vec::new());
        let stats = spool.close(Duration::from_secs(60)).stats;
        prop_assert_eq!(stats.counts.written_octets, expected.iter().map(|e| e.len() as u64).sum::<u64>());
        prop_assert_eq!(stats.memory.used, 0);
        prop_assert_eq!(files(folder.path()).len(), expected.len());
        for (number, expected) in expected.iter().enumerate() {
            let name = if number == 0 { "a.seg".to_owned() } else { format!("a.{number}.seg") };
            prop_assert!(std::fs::read(folder.path().join(name)).unwrap() == *expected);
        }
    }
}
