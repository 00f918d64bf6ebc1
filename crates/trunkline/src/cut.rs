//! A call cut out of the files it was read from: its packets, or the texts of its messages.
//!
//! The row knows the record of every message, and addresses, first and last record of every stream. What lies between
//! is found by reading that range of the file again. Files are read once more side by side and merged by time.

mod absent;
pub mod log;
mod pieces;

use core::ops::ControlFlow;
use pieces::{Hit, Pieces};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use trunkline_capture::{FileError, Packet, reread_range_until, reread_until};
use trunkline_store::row::{Call, Message};

/// Files that are read side by side; a call in more of them is refused.
// Limit: files that hold the packets of one call
// Beyond: the packets are not cut out
// Seen in: the error message
pub const FILES_MAX: usize = 256;
/// Packets that wait between the reader of a file and the merge.
const QUEUE_PACKETS_MAX: usize = 1024;
/// How long after the last packet of a call its RTCP is still looked for, nanoseconds.
const AFTERWARDS_NS: i64 = 1_000_000_000;

/// A packet with its octets.
#[derive(Clone, Debug)]
pub struct Captured {
    /// Time, link type, lengths.
    pub packet: Packet,
    /// What was captured of it.
    pub octets: Vec<u8>,
}

/// Hands the packets of the call to `each`, in time order; how many there were until `stop` was true.
///
/// # Errors
/// A text: which file is gone, changed or cannot be read again, and what to do; or what `each` says.
pub fn packets(
    call: &Call,
    stop: &AtomicBool,
    mut each: impl FnMut(&Captured) -> Result<(), String>,
) -> Result<u64, String> {
    check(call, stop)?;
    std::thread::scope(|scope| {
        let sources: Vec<_> = (0..call.files.len())
            .map(|file| {
                let (to, from) = sync_channel(QUEUE_PACKETS_MAX);
                (scope.spawn(move || send(call, file, stop, &to)), from)
            })
            .collect();
        let (threads, queues): (Vec<_>, Vec<_>) = sources.into_iter().unzip();
        let written = merge(&queues, &mut each);
        // A reader whose queue is gone stops.
        drop(queues);
        let read = threads.into_iter().map(|t| t.join().unwrap_or_else(|_| Err("a reader failed".to_owned())));
        let failed = read.filter_map(Result::err).next();
        let written = written?;
        failed.map_or(Ok(written), Err)
    })
}

/// The octets of each message of the call's ladder, in its order; none where they could not be put together again, or
/// not until `stop` was true.
///
/// # Errors
/// As [`packets`].
pub fn messages(call: &Call, stop: &AtomicBool) -> Result<Vec<Option<Vec<u8>>>, String> {
    check(call, stop)?;
    let mut texts = vec![None; call.ladder.messages.len()];
    for file in 0..call.files.len() {
        scan(call, file, stop, |hit| {
            if let Hit::Message(at, octets) = hit {
                texts[at] = Some(octets.to_vec());
            }
            ControlFlow::Continue(())
        })?;
    }
    Ok(texts)
}

/// Whether the files are still what they were when the call was read: each message's record is where it was, with the
/// time it had.
///
/// # Errors
/// Which file is gone or changed, and what to do; that it was stopped, once `stop` is true.
pub fn check(call: &Call, stop: &AtomicBool) -> Result<(), String> {
    if call.files.len() > FILES_MAX {
        return Err(format!("the call is in {} files, at most {FILES_MAX} can be read", call.files.len()));
    }
    if call.files.is_empty() {
        return Err("the store does not know which files hold this call: read the capture again".to_owned());
    }
    for (file, path) in call.files.iter().enumerate() {
        if path == "-" {
            return Err(
                "the call was read from standard input, which is gone: save the capture to a file and read that"
                    .to_owned(),
            );
        }
        check_file(call, file, Path::new(path), stop)?;
    }
    Ok(())
}

fn check_file(call: &Call, file: usize, path: &Path, stop: &AtomicBool) -> Result<(), String> {
    let messages = call.ladder.messages.iter().filter(|m| usize::from(m.file) == file);
    let mut wanted: Vec<(u64, i64)> = messages.map(|m| (m.offset, m.at_ns)).collect();
    wanted.sort_unstable();
    wanted.dedup_by_key(|w| w.0);
    let offsets: Vec<u64> = wanted.iter().map(|w| w.0).collect();
    let mut right = 0;
    let changed = || format!("{} has changed since it was read: read it again", path.display());
    if !path.exists() {
        return Err(format!(
            "{} was moved or deleted: restore it, or read it again from its new place",
            path.display()
        ));
    }
    let is_right = |packet: &Packet| wanted.contains(&(packet.offset, packet.at_ns));
    reread_until(path, &offsets, stop, |packet, _| right += usize::from(is_right(packet)))
        .map_err(|e| if right < wanted.len() { changed() } else { unreadable(&e) })?;
    if stop.load(Ordering::Relaxed) {
        return Err("it was stopped".to_owned());
    }
    if right == wanted.len() { Ok(()) } else { Err(changed()) }
}

fn unreadable(error: &FileError) -> String {
    error.to_string()
}

fn send(call: &Call, file: usize, stop: &AtomicBool, to: &SyncSender<Captured>) -> Result<(), String> {
    scan(call, file, stop, |hit| match hit {
        Hit::Packet(packet, octets) => match to.send(Captured { packet: *packet, octets: octets.to_vec() }) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        },
        Hit::Message(..) => ControlFlow::Continue(()),
    })
}

/// Reads the part of a file that holds the call and hands out what belongs to it. A file that is damaged behind the
/// call's last packet was damaged when it was read: that is no reason to refuse.
fn scan(
    call: &Call,
    file: usize,
    stop: &AtomicBool,
    mut each: impl FnMut(Hit<'_>) -> ControlFlow<()>,
) -> Result<(), String> {
    let mut pieces = Pieces::of(call, file);
    let path = Path::new(&call.files[file]);
    let until_ns = call.last_ns.saturating_add(AFTERWARDS_NS);
    let mut last_ns = i64::MIN;
    let from = first_offset(call, file, &pieces);
    let read = reread_range_until(path, from..=u64::MAX, stop, |packet, octets| {
        last_ns = packet.at_ns;
        if packet.at_ns > until_ns {
            return ControlFlow::Break(());
        }
        pieces.offer(packet, octets, &mut each)
    });
    match read {
        Err(error) if last_ns < call.last_ns && call.files.len() == 1 => Err(unreadable(&error)),
        _ => Ok(()),
    }
}

/// The first record that may belong to the call. What comes in pieces (TCP, fragments) began before the record that the
/// row names, and a stream that began in another file may go on here from the beginning.
fn first_offset(call: &Call, file: usize, pieces: &Pieces<'_>) -> u64 {
    let here = |m: &&Message| usize::from(m.file) == file;
    let in_pieces =
        call.ladder.messages.iter().filter(here).any(|m| m.flags & Message::TCP != 0 || pieces.is_cut_up(m));
    let elsewhere = call.streams.iter().any(|s| usize::from(s.file) != file);
    if in_pieces || elsewhere {
        return 0;
    }
    let messages = call.ladder.messages.iter().filter(here).map(|m| m.offset);
    messages.chain(call.streams.iter().map(|s| s.offset_first)).min().unwrap_or(0)
}

/// Takes the earliest packet of all queues again and again.
fn merge(queues: &[Receiver<Captured>], each: &mut impl FnMut(&Captured) -> Result<(), String>) -> Result<u64, String> {
    let mut heads: Vec<Option<Captured>> = queues.iter().map(|q| q.recv().ok()).collect();
    let mut written = 0;
    loop {
        let next = heads.iter().enumerate().filter_map(|(i, h)| Some((h.as_ref()?.packet.at_ns, i))).min();
        let Some((_, at)) = next else { return Ok(written) };
        if let Some(captured) = heads[at].take() {
            each(&captured)?;
            written += 1;
        }
        heads[at] = queues[at].recv().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::NEVER;
    use std::path::PathBuf;
    use trunkline_capture::PcapWriter;
    use trunkline_store::row::{Ladder, Stream};
    use trunkline_wire::Endpoint;

    const A: &str = "192.0.2.1:5060";
    const B: &str = "192.0.2.2:5060";
    const INVITE: &[u8] = b"INVITE sip:b SIP/2.0\r\nCall-ID: x\r\n\r\n";
    const BYE: &[u8] = b"BYE sip:b SIP/2.0\r\nCall-ID: x\r\n\r\n";

    fn endpoint(text: &str) -> Endpoint {
        text.parse().unwrap()
    }

    /// Ethernet, IPv4 (RFC 791) and the transport that is given, checksums left out.
    fn packet(src: &str, dst: &str, protocol: u8, transport: &[u8]) -> Vec<u8> {
        let mut o = vec![0; 12];
        o.extend([8, 0, 0x45, 0]);
        o.extend((20 + transport.len() as u16).to_be_bytes());
        o.extend([0, 0, 0, 0, 64, protocol, 0, 0]);
        o.extend(&endpoint(src).address.octets()[12..]);
        o.extend(&endpoint(dst).address.octets()[12..]);
        o.extend(transport);
        o
    }

    fn ports(src: &str, dst: &str) -> Vec<u8> {
        [endpoint(src).port.to_be_bytes(), endpoint(dst).port.to_be_bytes()].concat()
    }

    fn udp(src: &str, dst: &str, payload: &[u8]) -> Vec<u8> {
        let length = (8 + payload.len() as u16).to_be_bytes();
        packet(src, dst, 17, &[&ports(src, dst)[..], &length, &[0, 0], payload].concat())
    }

    fn tcp(src: &str, dst: &str, seq: u32, payload: &[u8]) -> Vec<u8> {
        let header =
            [&ports(src, dst)[..], &seq.to_be_bytes(), &[0; 4], &[0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]].concat();
        packet(src, dst, 6, &[header, payload.to_vec()].concat())
    }

    /// Writes packets a millisecond apart and says where their records begin.
    fn capture(name: &str, folder: &Path, from_ms: i64, packets: &[Vec<u8>]) -> (PathBuf, Vec<u64>) {
        let path = folder.join(name);
        let mut writer = PcapWriter::pcap(std::fs::File::create(&path).unwrap());
        let mut offsets = vec![24];
        for (i, octets) in packets.iter().enumerate() {
            writer.write((from_ms + i as i64) * 1_000_000, 1, octets.len() as u32, octets).unwrap();
            offsets.push(offsets[i] + 16 + octets.len() as u64);
        }
        writer.finish().unwrap();
        (path, offsets)
    }

    fn message(ms: i64, offset: u64, method: u8, octets: usize, flags: u8) -> Message {
        let octets = octets as u32;
        Message { at_ns: ms * 1_000_000, offset, octets, method, src: 0, dst: 1, flags, ..Message::default() }
    }

    fn call(files: &[&Path], messages: Vec<Message>, streams: Vec<Stream>) -> Call {
        let hosts = vec![endpoint(A), endpoint(B)];
        let last_ns = 1_000_000_000;
        let files = files.iter().map(|f| f.to_string_lossy().into_owned()).collect();
        Call { last_ns, ladder: Ladder { hosts, messages, ..Ladder::default() }, streams, files, ..Call::default() }
    }

    fn cut(call: &Call) -> Result<Vec<i64>, String> {
        let mut times = Vec::new();
        packets(call, &NEVER, |captured| {
            times.push(captured.packet.at_ns / 1_000_000);
            Ok(())
        })?;
        Ok(times)
    }

    #[test]
    fn takes_signalling_and_media_and_leaves_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let (m, n) = ("192.0.2.1:4000", "192.0.2.2:6000");
        let (rtcp_m, rtcp_n) = ("192.0.2.1:4001", "192.0.2.2:6001");
        let packets = [
            udp(A, B, b"OPTIONS sip:b SIP/2.0\r\n\r\n"),
            udp(A, B, INVITE),
            udp(m, n, &[0x80, 8]),
            udp("192.0.2.9:4000", n, &[0x80, 8]),
            udp(rtcp_n, rtcp_m, &[0x81, 201]),
            udp(A, B, BYE),
        ];
        let (path, at) = capture("a.pcap", folder.path(), 0, &packets);
        let stream =
            Stream { src: endpoint(m), dst: endpoint(n), offset_first: at[2], offset_last: at[2], ..Stream::default() };
        let messages = vec![message(1, at[1], 1, INVITE.len(), 0), message(5, at[5], 3, BYE.len(), 0)];
        let call = call(&[&path], messages, vec![stream]);
        assert_eq!(cut(&call), Ok(vec![1, 2, 4, 5]));
        assert_eq!(self::messages(&call, &NEVER), Ok(vec![Some(INVITE.to_vec()), Some(BYE.to_vec())]));
    }

    #[test]
    fn puts_messages_together_from_segments() {
        let folder = tempfile::tempdir().unwrap();
        let packets = [
            tcp(A, B, 100, &INVITE[..10]),
            tcp(B, A, 7, b"SIP/2.0 100 Trying\r\n\r\n"),
            tcp(A, B, 110, &[&INVITE[10..], BYE].concat()),
        ];
        let (path, at) = capture("a.pcap", folder.path(), 0, &packets);
        let flag = Message::TCP;
        let messages = vec![message(2, at[2], 1, INVITE.len(), flag), message(2, at[2], 3, BYE.len(), flag)];
        let call = call(&[&path], messages, Vec::new());
        assert_eq!(self::messages(&call, &NEVER), Ok(vec![Some(INVITE.to_vec()), Some(BYE.to_vec())]));
        assert_eq!(cut(&call), Ok(vec![0, 2]));
    }

    #[test]
    fn merges_files_by_time() {
        let folder = tempfile::tempdir().unwrap();
        let (m, n) = ("192.0.2.1:4000", "192.0.2.2:6000");
        let rtp = |from: &str, to: &str| vec![udp(from, to, &[0x80, 8]); 3];
        let (a, at) = capture("a.pcap", folder.path(), 10, &[vec![udp(A, B, INVITE)], rtp(m, n)].concat());
        let (b, _) = capture("b.pcap", folder.path(), 11, &rtp(n, m));
        let stream =
            Stream { src: endpoint(m), dst: endpoint(n), offset_first: at[1], offset_last: at[3], ..Stream::default() };
        let call = call(&[&a, &b], vec![message(10, at[0], 1, INVITE.len(), 0)], vec![stream]);
        assert_eq!(cut(&call), Ok(vec![10, 11, 11, 12, 12, 13, 13]));
    }

    #[test]
    fn says_what_is_wrong_with_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let (path, at) = capture("a.pcap", folder.path(), 0, &[udp(A, B, INVITE)]);
        let of = |ms: i64, offset: u64| call(&[&path], vec![message(ms, offset, 1, INVITE.len(), 0)], Vec::new());
        assert!(check(&of(0, at[0]), &NEVER).is_ok());
        assert!(check(&of(0, at[0]), &AtomicBool::new(true)).unwrap_err().contains("stopped"));
        assert!(check(&of(7, at[0]), &NEVER).unwrap_err().contains("has changed"));
        assert!(check(&of(0, at[0] + 3), &NEVER).unwrap_err().contains("has changed"));
        assert!(
            check(&call(&[Path::new("-")], Vec::new(), Vec::new()), &NEVER).unwrap_err().contains("standard input")
        );
        assert!(check(&call(&[], Vec::new(), Vec::new()), &NEVER).unwrap_err().contains("read the capture again"));
        std::fs::remove_file(&path).unwrap();
        assert!(check(&of(0, at[0]), &NEVER).unwrap_err().contains("was moved or deleted"));
    }
}
