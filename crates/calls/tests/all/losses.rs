//! What a pcapng file says was dropped, laid against the calls of that time: also those that are over long before the
//! file says so.

use crate::world;
use std::io::Write;
use std::path::Path;
use trunkline_capture::{Batch, FileSource, PcapWriter};
use trunkline_sim::{Preset, Settings};
use trunkline_store::row::{Call, Loss};
use trunkline_wire::pcapng::emit::Statistics;
use world::read_rows;

fn rows(file: &Path, threads: usize) -> (Vec<Call>, Vec<Loss>, u64) {
    let (rows, summary) = read_rows(file, threads);
    (rows.calls, rows.losses, summary.capture_lost)
}

/// A world without faults as pcapng: half of it with statistics that tell of no drops, the other half with seven, told
/// behind the last packet. Gives when the halves meet, too.
fn capture() -> (Vec<u8>, i64) {
    let settings = Settings { calls: 600, media: false, rtcp: false, seed: 4, ..Settings::preset(Preset::Clean) };
    let mut pcap = Vec::new();
    trunkline_sim::write(&settings, &mut pcap, None::<Vec<u8>>, &mut |_, _| {}).unwrap();
    let (mut source, mut batch, mut packets) = (FileSource::of_octets(vec![pcap]), Batch::default(), Vec::new());
    while source.fill(&mut batch) {
        packets.extend(batch.packets.iter().map(|p| (p.at_ns, p.link, p.wire, batch.octets_of(p).to_vec())));
    }
    let (first, last) = (packets[0].0, packets[packets.len() - 1].0);
    let middle = packets[packets.len() / 2].0;
    let mut writer = PcapWriter::pcapng(Vec::new());
    let statistics =
        |at_ns, dropped_by_system| Statistics { start_ns: first, at_ns, dropped_by_system, ..Default::default() };
    for (at, (at_ns, link, wire, octets)) in packets.iter().enumerate() {
        writer.write(*at_ns, *link, *wire, octets).unwrap();
        if at == packets.len() / 2 {
            writer.write_statistics(&statistics(middle, 0)).unwrap();
        }
    }
    writer.write_statistics(&statistics(last, 7)).unwrap();
    (writer.finish().unwrap(), middle)
}

#[test]
fn drops_count_against_the_calls_of_their_time_whenever_these_end() {
    let (file, middle) = capture();
    let folder = tempfile::tempdir().unwrap();
    let (plain, packed) = (folder.path().join("plain"), folder.path().join("packed"));
    std::fs::write(&plain, &file).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&file).unwrap();
    std::fs::write(&packed, gzip.finish().unwrap()).unwrap();

    let noted = |call: &Call| call.capture.note.contains("the capturing side dropped 7 packets");
    let (calls, losses, lost) = rows(&plain, 1);
    for call in &calls {
        assert_eq!(noted(call), call.last_ns >= middle, "{}", call.capture.note);
        assert!(!(noted(call) && call.capture.complete));
    }
    let marked = calls.iter().filter(|c| noted(c)).count();
    assert!(marked > 10 && marked < calls.len() - 10);
    assert_eq!((losses.len(), losses[0].count, losses[0].since_ns, lost), (1, 7, middle, 7));
    assert!(rows(&plain, 3) == (calls.clone(), losses.clone(), lost));

    // What is compressed is read once: the drops are known when they are told, for calls that are still there then.
    let (late, told, told_lost) = rows(&packed, 1);
    assert_eq!((told.len(), told_lost), (1, 7));
    let late_marked = late.iter().filter(|c| noted(c)).count();
    assert!(late_marked > 0 && late_marked < marked, "{late_marked} of {marked}");
    assert!(late.iter().filter(|c| noted(c)).all(|c| c.last_ns >= middle));
}
