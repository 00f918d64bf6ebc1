//! The same packets in all forms of file: compressed, piped, in many pieces, cut anywhere.

use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use trunkline_capture::{
    Batch, CaptureLoss, Expansion, FileFault, FileSource, LossPlace, Packet, PcapWriter, reread, reread_range,
    reread_range_until, reread_until,
};
use trunkline_wire::pcapng::emit::Statistics;

/// One packet with its octets, without where it lay in the batch.
type Seen = (Packet, Vec<u8>);

fn all(source: &mut FileSource) -> Vec<Seen> {
    let mut batch = Batch::default();
    let mut seen = Vec::new();
    while source.fill(&mut batch) {
        let packets = batch.packets.iter();
        seen.extend(packets.map(|p| (Packet { start: 0, ..*p }, batch.octets_of(p).to_vec())));
    }
    seen
}

fn read(path: &Path) -> Vec<Seen> {
    all(&mut FileSource::open(&[path.to_path_buf()]))
}

/// A capture of `n` packets, one a millisecond from `start_ms` on, of many lengths.
fn capture(pcapng: bool, start_ms: i64, n: u32) -> Vec<u8> {
    let mut writer = if pcapng { PcapWriter::pcapng(Vec::new()) } else { PcapWriter::pcap(Vec::new()) };
    for i in 0..n {
        let octets = vec![i as u8; (i as usize * 37) % 1500];
        let at_ns = (start_ms + i64::from(i)) * 1_000_000;
        writer.write(at_ns, 1, octets.len() as u32 + 4, &octets).unwrap();
    }
    writer.finish().unwrap()
}

fn gzip(octets: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(octets).unwrap();
    encoder.finish().unwrap()
}

fn lz4(octets: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(octets).unwrap();
    encoder.finish().unwrap()
}

fn zstd(octets: &[u8]) -> Vec<u8> {
    zstd::encode_all(octets, 1).unwrap()
}

fn write(dir: &Path, name: &str, octets: &[u8]) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, octets).unwrap();
    path
}

#[test]
fn compressed_files_hold_the_same() {
    let dir = tempfile::tempdir().unwrap();
    for pcapng in [false, true] {
        let file = capture(pcapng, 0, 3000);
        let expected = read(&write(dir.path(), "plain", &file));
        assert_eq!(expected.len(), 3000);
        let (one, two) = file.split_at(file.len() / 3);
        for (name, compress) in [("gzip", gzip as fn(&[u8]) -> Vec<u8>), ("zstd", zstd), ("lz4", lz4)] {
            let several = [compress(one), compress(two)].concat();
            for octets in [compress(&file), several] {
                let path = write(dir.path(), name, &octets);
                let mut source = FileSource::open(&[path]);
                assert!(all(&mut source) == expected, "{name}");
                let file = &source.files()[0];
                assert!(file.format.ends_with(&format!(", in {name}")), "{}", file.format);
                assert_eq!((&file.error, file.read.octets_read), (&None, octets.len() as u64));
            }
        }
    }
}

#[test]
fn small_batches_give_the_same() {
    let dir = tempfile::tempdir().unwrap();
    for pcapng in [false, true] {
        let path = write(dir.path(), "file", &capture(pcapng, 0, 500));
        let expected = read(&path);
        for octets in [1, 7, 100, 5000] {
            let mut source = FileSource::open(std::slice::from_ref(&path)).with_batch_octets(octets);
            assert!(all(&mut source) == expected, "{octets}");
        }
    }
}

#[test]
fn overlapping_files_are_merged_by_time() {
    let dir = tempfile::tempdir().unwrap();
    // Two that overlap wholly, one at the end of them, one long after, one long before; named out of order.
    let starts = [(5_000, 400), (1_000, 600), (1_000, 600), (1_590, 50), (0, 10)];
    let named = starts.iter().enumerate();
    let paths: Vec<_> =
        named.map(|(i, (start, n))| write(dir.path(), &i.to_string(), &capture(i % 2 == 0, *start, *n))).collect();
    let mut expected: Vec<Seen> = Vec::new();
    for (i, path) in paths.iter().enumerate() {
        expected.extend(read(path).into_iter().map(|(p, o)| (Packet { file: i as u32, ..p }, o)));
    }
    expected.sort_by_key(|(p, _)| (p.at_ns, p.file));
    expected.iter_mut().zip(1..).for_each(|((p, _), number)| p.number = number);
    for octets in [1, 3000, 1 << 20] {
        let mut source = FileSource::open(&paths).with_batch_octets(octets);
        assert!(all(&mut source) == expected, "{octets}");
        let counters = source.counters();
        assert_eq!((counters.packets, counters.files, counters.files_late), (1660, 5, 0));
        // Those that are alone are not copied, but for what a batch held when the next file began.
        assert!(octets == 1 << 20 || counters.merged < 1400, "{}", counters.merged);
        assert_eq!(source.octets_read(), source.octets_total());
    }
}

#[test]
fn the_order_inside_a_file_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = PcapWriter::pcap(Vec::new());
    for at in [10, 90, 20, 100] {
        writer.write(at, 1, 0, b"").unwrap();
    }
    let a = write(dir.path(), "a", &writer.finish().unwrap());
    let mut writer = PcapWriter::pcap(Vec::new());
    writer.write(50, 1, 0, b"").unwrap();
    let b = write(dir.path(), "b", &writer.finish().unwrap());
    let times: Vec<_> = all(&mut FileSource::open(&[a, b])).iter().map(|(p, _)| (p.at_ns, p.file)).collect();
    assert_eq!(times, [(10, 0), (50, 1), (90, 0), (20, 0), (100, 0)]);
}

#[test]
fn thousands_of_files_do_not_exhaust_descriptors() {
    let dir = tempfile::tempdir().unwrap();
    let paths: Vec<_> = (0..3000).map(|i| write(dir.path(), &i.to_string(), &capture(false, i * 10, 10))).collect();
    let mut source = FileSource::open(&paths);
    let mut batch = Batch::default();
    let (mut packets, mut open) = (0, 0);
    while source.fill(&mut batch) {
        packets += batch.packets.len();
        open = open.max(fs::read_dir("/proc/self/fd").map_or(0, |fds| fds.count()));
    }
    assert_eq!(packets, 30_000);
    assert!(open < 200, "{open} descriptors");
}

/// More files than are merged at once all begin at the same time: all is handed out, and what was late is counted.
#[test]
fn too_much_overlap_is_late_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let paths: Vec<_> = (0..200).map(|i| write(dir.path(), &i.to_string(), &capture(false, i / 200, 5))).collect();
    let mut source = FileSource::open(&paths);
    assert_eq!(all(&mut source).len(), 1000);
    assert_eq!(source.counters().files_late, 200 - trunkline_capture::source::OVERLAP_MAX as u64);
}

#[test]
fn a_broken_file_does_not_stop_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let good = write(dir.path(), "good", &capture(false, 0, 10));
    let cut = write(dir.path(), "cut", &capture(true, 5, 10)[..700]);
    let gz = gzip(&capture(false, 5, 100));
    let cut_gz = write(dir.path(), "cut.gz", &gz[..gz.len() / 2]);
    let empty = write(dir.path(), "empty", b"");
    let none = write(dir.path(), "none", &capture(false, 0, 0));
    let text = write(dir.path(), "text", b"hello, world\n");
    let text_gz = write(dir.path(), "text.gz", &gzip(b"hello, world\n"));
    let missing = dir.path().join("missing");
    let folder = dir.path().to_path_buf();
    let again = good.clone();
    let mut source = FileSource::open(&[good, cut, cut_gz, empty, none, text, text_gz, missing, folder, again]);
    let seen = all(&mut source);
    let files = source.files();
    let told = |i: usize| files[i].error.as_ref().map(|e| e.to_string().split_once(": ").unwrap().1.to_string());
    assert_eq!((told(0), told(3), told(4), told(9)), (None, None, None, None));
    assert_eq!(files[3].format, "empty");
    assert!(told(1).unwrap().ends_with("octets are there"), "{:?}", told(1));
    assert!(told(2).unwrap().contains("the gzip compression is damaged"), "{:?}", told(2));
    assert_eq!(told(5).unwrap(), "not a capture file: it looks like text");
    assert_eq!(told(6).unwrap(), "not a capture file: it is gzip, with what looks like text inside");
    assert!(told(7).unwrap().starts_with("cannot be read: No such file"), "{:?}", told(7));
    assert!(told(8).unwrap().starts_with("cannot be read: "), "{:?}", told(8));
    assert!(files[1].read.packets > 0 && files[2].read.packets > 10);
    assert_eq!(seen.len() as u64, files.iter().map(|f| f.read.packets).sum::<u64>());
    assert_eq!((source.counters().files, source.counters().files_broken), (10, 6));
}

#[test]
fn losses_and_secrets_come_along() {
    let mut writer = PcapWriter::pcapng(Vec::new());
    writer.write_secrets(0x544c_534b, b"keys").unwrap();
    writer.write(1_000, 1, 0, b"").unwrap();
    writer.write_statistics(&statistics(2_000, 7)).unwrap();
    writer.write_statistics(&statistics(3_000, 9)).unwrap();
    let mut source = FileSource::of_octets(vec![writer.finish().unwrap()]);
    let (mut batch, mut losses) = (Batch::default(), Vec::new());
    while source.fill(&mut batch) {
        losses.append(&mut batch.losses);
    }
    assert_eq!(losses, [loss(2_000, 500, 7), loss(3_000, 2_000, 2)]);
    assert_eq!(source.files()[0].secrets[0].octets, b"keys");
    assert_eq!((source.counters().lost, source.counters().secret_blocks), (9, 1));
}

/// Statistics of an interface whose counting began at 500.
fn statistics(at_ns: i64, dropped_by_system: u64) -> Statistics {
    Statistics { start_ns: 500, at_ns, dropped_by_system, ..Default::default() }
}

fn loss(at_ns: i64, since_ns: i64, packets: u64) -> CaptureLoss {
    CaptureLoss { at_ns, since_ns, packets, file: 0, place: LossPlace::OperatingSystem }
}

/// What was lost, and the time of the last packet that had been handed out before it was told.
fn told(mut source: FileSource) -> (Vec<(CaptureLoss, i64)>, u64) {
    let (mut batch, mut told, mut latest) = (Batch::default(), Vec::new(), 0);
    while source.fill(&mut batch) {
        told.extend(batch.losses.iter().map(|l| (*l, latest)));
        latest = batch.packets.iter().map(|p| p.at_ns).fold(latest, i64::max);
    }
    (told, source.counters().lost)
}

#[test]
fn losses_are_known_before_the_packets_of_their_time() {
    let (mut writer, second) = (PcapWriter::pcapng(Vec::new()), 1_000_000_000);
    for i in 1..=300 {
        writer.write(i * second, 1, 1000, &[0; 1000]).unwrap();
        match i {
            100 => writer.write_statistics(&statistics(100 * second, 0)).unwrap(),
            200 => writer.write_statistics(&statistics(200 * second, 5)).unwrap(),
            300 => writer.write_statistics(&statistics(300 * second, 9)).unwrap(),
            _ => {}
        }
    }
    let file = writer.finish().unwrap();
    let expected = [loss(200 * second, 100 * second, 5), loss(300 * second, 200 * second, 4)];
    let cut = |at: usize| file[..file.len() - at].to_vec();
    // Whole, without the last statistics, and cut in a packet: each time what there is is known ahead.
    for (octets, reports) in [(cut(0), 2), (cut(112), 1), (cut(2000), 1)] {
        let dir = tempfile::tempdir().unwrap();
        let path = write(dir.path(), "file", &octets);
        for batch_octets in [1, 5000, 1 << 20] {
            for source in [FileSource::of_octets(vec![octets.clone()]), FileSource::open(std::slice::from_ref(&path))] {
                let (told, lost) = told(source.with_batch_octets(batch_octets));
                assert!(told.iter().map(|(l, _)| l).eq(&expected[..reports]), "{batch_octets}");
                assert!(told.iter().all(|(l, latest)| *latest <= l.since_ns), "{batch_octets} {told:?}");
                assert_eq!(lost, expected[..reports].iter().map(|l| l.packets).sum::<u64>());
            }
        }
    }
    // What is not read twice tells them behind the packets.
    let (told, lost) = told(FileSource::of_octets(vec![gzip(&file)]).with_batch_octets(5000));
    assert!(told.iter().map(|(l, _)| l).eq(&expected) && lost == 9);
    assert!(told.iter().all(|(l, latest)| *latest > l.since_ns), "{told:?}");
}

#[test]
fn losses_of_files_that_overlap_are_told_once_in_order() {
    let second = 1_000_000_000;
    let file = |begin: i64, drops: u64| {
        let mut writer = PcapWriter::pcapng(Vec::new());
        for i in 0..50 {
            writer.write((begin + i) * second, 1, 100, &[0; 100]).unwrap();
        }
        let start_ns = begin * second;
        let statistics = Statistics { start_ns, ..statistics((begin + 50) * second, drops) };
        writer.write_statistics(&statistics).unwrap();
        writer.finish().unwrap()
    };
    for octets in [1, 700, 1 << 20] {
        let files = vec![file(30, 3), file(0, 1), file(10, 0), file(200, 4)];
        let (told, lost) = told(FileSource::of_octets(files).with_batch_octets(octets));
        let got: Vec<_> = told.iter().map(|(l, _)| (l.file, l.packets)).collect();
        assert_eq!((got, lost), (vec![(1, 1), (0, 3), (3, 4)], 8));
        assert!(told.iter().all(|(l, latest)| *latest <= l.since_ns), "{octets} {told:?}");
    }
}

#[test]
fn packets_are_read_again_by_their_place() {
    let dir = tempfile::tempdir().unwrap();
    for pcapng in [false, true] {
        let file = capture(pcapng, 0, 3000);
        for (name, octets) in [("plain", file.clone()), ("gz", gzip(&file))] {
            let path = write(dir.path(), name, &octets);
            let expected = read(&path);
            let wanted: Vec<&Seen> = expected.iter().filter(|(p, _)| p.number % 700 == 5).collect();
            let offsets: Vec<u64> = wanted.iter().map(|(p, _)| p.offset).collect();
            let mut seen = Vec::new();
            let found = reread(&path, &offsets, |p, o| seen.push((p.at_ns, p.wire, o.to_vec()))).unwrap();
            assert_eq!(found, offsets.len() as u64);
            assert!(wanted.iter().map(|(p, o)| (p.at_ns, p.wire, o.clone())).eq(seen), "{name}");

            let (first, last) = (expected[2000].0.offset, expected[2009].0.offset);
            let mut times = Vec::new();
            let found = reread_range(&path, first..=last, |p, _| {
                times.push(p.at_ns);
                ControlFlow::Continue(())
            });
            assert_eq!(found, Ok(10));
            assert_eq!(times, (2000..2010).map(|i| i * 1_000_000).collect::<Vec<i64>>());
        }
    }
    // Who is stopped before it begins finds nothing, and is told of no damage.
    let (path, stop) = (write(dir.path(), "stopped", &gzip(&capture(false, 0, 3000))), AtomicBool::new(true));
    let last = read(&path).last().unwrap().0.offset;
    assert_eq!(reread_until(&path, &[last], &stop, |_, _| {}), Ok(0));
    assert_eq!(reread_range_until(&path, 0..=last, &stop, |_, _| ControlFlow::Continue(())), Ok(0));
    assert_eq!(reread(Path::new("nowhere"), &[], |_, _| {}), Ok(0));
    let fault = reread(Path::new("/dev/null"), &[0], |_, _| {}).unwrap_err().fault;
    assert_eq!(fault, FileFault::NotRepeatable);
}

#[test]
fn a_small_file_of_which_much_comes_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = PcapWriter::pcap(Vec::new());
    for at_ns in 0..1000 {
        writer.write(at_ns, 1, 10_000, &[0; 10_000]).unwrap();
    }
    let bomb = writer.finish().unwrap();
    let limit = |octets_max, ratio_max, judged_from| Expansion { octets_max, ratio_max, judged_from };
    let packed = [("gz", gzip(&bomb)), ("zst", zstd::encode_all(bomb.as_slice(), 3).unwrap())];
    for (name, octets) in &packed {
        let path = write(dir.path(), name, octets);
        for (limit, most) in [(limit(1 << 40, 20, 1 << 20), 2 << 20), (limit(3 << 20, u64::MAX, 0), 4 << 20)] {
            let mut source = FileSource::open_bounded(std::slice::from_ref(&path), limit);
            let inside: usize = all(&mut source).iter().map(|(_, octets)| octets.len()).sum();
            let error = source.files()[0].error.clone().unwrap();
            assert!(matches!(error.fault, FileFault::Expands { .. }), "{name}: {error}");
            assert!((1 << 19..most).contains(&inside), "{name}: {inside} octets were handed out");
        }
        let mut whole = FileSource::open_bounded(std::slice::from_ref(&path), limit(1 << 40, 20, 1 << 30));
        assert_eq!((all(&mut whole).len(), whole.files()[0].error.clone()), (1000, None));
    }
    // What is not compressed is as large as it is.
    let path = write(dir.path(), "plain", &bomb);
    assert_eq!(all(&mut FileSource::open_bounded(&[path], limit(1, 1, 0))).len(), 1000);
}

#[test]
fn pcap_takes_one_link_type() {
    let mut writer = PcapWriter::pcap(Vec::new());
    writer.write(0, 1, 1, b"x").unwrap();
    assert_eq!(writer.write(0, 113, 1, b"x").unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
}

/// What is written is what capinfos reads, where it is installed.
#[test]
fn capinfos_reads_what_is_written() {
    let dir = tempfile::tempdir().unwrap();
    for pcapng in [false, true] {
        let path = write(dir.path(), "written", &capture(pcapng, 1_700_000_000_000, 100));
        let Ok(out) = Command::new("capinfos").args(["-T", "-m", "-r", "-M", "-c", "-d", "-u"]).arg(&path).output()
        else {
            println!("SKIPPED: no capinfos");
            return;
        };
        let wire: u64 = read(&path).iter().map(|(p, _)| u64::from(p.wire)).sum();
        let text = String::from_utf8_lossy(&out.stdout);
        let fields: Vec<&str> = text.trim().split(',').skip(1).collect();
        assert_eq!(fields, ["100".to_string(), wire.to_string(), "0.099000000".into()]);
    }
}

#[test]
fn standard_input_gives_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let file = capture(false, 0, 3000);
    for octets in [zstd(&file), file] {
        let path = write(dir.path(), "file", &octets);
        let expected = read(&path).iter().map(|(p, o)| p.at_ns + p.number as i64 + o.len() as i64).sum::<i64>();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "forms::child_of_standard_input", "--ignored", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&octets).unwrap();
        let out = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout);
        assert!(text.contains(&format!("3000 packets, sum {expected}, twice true")), "{text}");
    }
}

/// Run by the test above, with a capture on standard input.
#[test]
#[ignore = "reads standard input"]
fn child_of_standard_input() {
    let mut source = FileSource::open(&["-".into(), "-".into()]);
    let seen = all(&mut source);
    let sum: i64 = seen.iter().map(|(p, o)| p.at_ns + p.number as i64 + o.len() as i64).sum();
    let twice = source.files()[1].error.as_ref().is_some_and(|e| e.fault == FileFault::StandardInputTwice);
    println!("{} packets, sum {sum}, twice {twice}", seen.len());
}

#[test]
fn a_source_may_move_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<FileSource>();
    is_send::<Batch>();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    /// A file cut anywhere gives the packets that are whole, and an error that names the place of the first that is
    /// not.
    #[test]
    fn cut_anywhere(pcapng: bool, form in 0..4, cut in 0usize..20_000) {
        let file = capture(pcapng, 0, 60);
        let whole = all(&mut FileSource::of_octets(vec![file.clone()]));
        let octets = match form {
            0 => file,
            1 => gzip(&file),
            2 => zstd(&file),
            _ => lz4(&file),
        };
        let cut = cut.min(octets.len() - 1);
        let mut source = FileSource::of_octets(vec![octets[..cut].to_vec()]).with_batch_octets(1000);
        let seen = all(&mut source);
        prop_assert!(seen == whole[..seen.len()]);
        let next = whole.get(seen.len()).map_or(u64::MAX, |(p, _)| p.offset);
        match &source.files()[0].error {
            Some(error) => prop_assert!(error.offset <= next, "{error} {next}"),
            None => prop_assert!(cut == 0 || (form == 0 && (next == cut as u64 || seen.is_empty())), "no error: {cut}"),
        }
        trunkline_capture::exercise::source(&octets[..cut]);
    }

    /// One octet changed anywhere never panics, and all batch sizes agree.
    #[test]
    fn damaged_anywhere(pcapng: bool, form in 0..4, at: prop::sample::Index, octet: u8) {
        let file = capture(pcapng, 0, 30);
        let mut octets = match form {
            0 => file,
            1 => gzip(&file),
            2 => zstd(&file),
            _ => lz4(&file),
        };
        let at = at.index(octets.len());
        octets[at] = octet;
        trunkline_capture::exercise::source(&octets);
    }

    #[test]
    fn anything_at_all(octets: Vec<u8>) {
        trunkline_capture::exercise::source(&octets);
    }
}
