use super::*;
use crate::job::SeenPacket;
use core::ops::ControlFlow;
use std::path::PathBuf;
use trunkline_capture::PcapWriter;

/// Numbers of the packets that came.
#[derive(Default)]
struct Numbers(Vec<u64>);

impl LaneJob for Numbers {
    fn take(&mut self, seen: &mut SeenPacket<'_>) -> ControlFlow<()> {
        self.0.push(seen.packet.number);
        ControlFlow::Continue(())
    }
}

/// Packets of an octet more than a thousand each, so that there are several batches.
const PACKETS: u64 = 1000;

fn file(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("some.pcap");
    let mut writer = PcapWriter::pcap(std::fs::File::create(&path).unwrap());
    for number in 0..PACKETS as i64 {
        writer.write(number * 1_000_000, 101, 1001, &[0x45; 1001]).unwrap();
    }
    writer.finish().unwrap();
    path
}

#[test]
fn batches_are_read_in_order_and_walked_in_any() {
    let folder = tempfile::tempdir().unwrap();
    let mut reader = FileReader::new(FileSource::open(&[file(&folder)]));
    let mut batches = Vec::new();
    while batches.last().is_none_or(|batch: &FileBatch| !batch.is_last) {
        let mut next = FileBatch::default();
        reader.fill(&mut next, false);
        batches.push(next);
    }
    assert!(batches.len() > 2, "{}", batches.len());
    assert!(batches.last().unwrap().batch.packets.is_empty());
    let walk = |batch: &mut FileBatch| {
        let mut numbers = Numbers::default();
        let counted = batch.walk(&mut numbers);
        assert_eq!(counted.packets as usize, numbers.0.len());
        numbers.0
    };
    let mut numbers: Vec<Vec<u64>> = batches.iter_mut().rev().map(walk).collect();
    numbers.reverse();
    assert_eq!(numbers.concat(), (1..=PACKETS).collect::<Vec<_>>());
    assert_eq!(batches.last().unwrap().now_ns, (PACKETS as i64 - 1) * 1_000_000);
    assert_eq!(reader.counters().iter().find(|c| c.name == "trunkline_capture_packets_total").unwrap().value, PACKETS);
}

#[test]
fn reading_that_is_to_stop_ends_with_a_last_batch() {
    let folder = tempfile::tempdir().unwrap();
    let mut reader = FileReader::new(FileSource::open(&[file(&folder)]));
    let mut batch = FileBatch::default();
    reader.fill(&mut batch, false);
    assert!(!batch.is_last && !batch.batch.packets.is_empty());
    reader.fill(&mut batch, true);
    assert!(batch.is_last && batch.batch.packets.is_empty());
}
