//! What the fuzz target of this crate drives.

use crate::{Batch, FileSource, Packet};

/// Reads octets as a file of any format and compression, in large and in small batches, and merged with itself.
pub fn source(octets: &[u8]) {
    let (large, error) = read(vec![octets.to_vec()], 16 << 10);
    let (small, small_error) = read(vec![octets.to_vec()], 1);
    assert_eq!(large, small);
    assert_eq!(error, small_error);
    let (twice, _) = read(vec![octets.to_vec(), octets.to_vec()], 4096);
    assert_eq!(twice.len(), large.len() * 2);
}

/// All packets of some files with a digest of their octets, and the first file's error.
fn read(files: Vec<Vec<u8>>, batch_octets: usize) -> (Vec<(Packet, u64)>, Option<crate::FileError>) {
    let mut source = FileSource::of_octets(files).with_batch_octets(batch_octets);
    let mut batch = Batch::default();
    let mut all = Vec::new();
    while source.fill(&mut batch) {
        for packet in &batch.packets {
            let digest = batch.octets_of(packet).iter().fold(5381u64, |d, o| d.wrapping_mul(33) ^ u64::from(*o));
            all.push((Packet { start: 0, ..*packet }, digest));
        }
    }
    for (i, (packet, _)) in all.iter().enumerate() {
        assert_eq!(packet.number, i as u64 + 1);
    }
    (all, source.files().first().and_then(|f| f.error.clone()))
}
