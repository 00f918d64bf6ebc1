//! A call cut out of the files it was read from: its packets, or the texts of its messages.
//!
//! The row knows the record of every message, and addresses, first and last record of every stream. What lies between
//! is found by reading that range of the file again. Files are read once more side by side and merged by time.

mod pieces;

use core::ops::ControlFlow;
use pieces::{Hit, Pieces};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use trunkline_capture::{FileError, Packet, reread, reread_range};
use trunkline_store::row::{Call, Message};

/// Files that are read side by side; a call in more of them is refused.
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

/// Hands the packets of the call to `each`, in time order; how many there were.
///
/// # Errors
/// A text: which file is gone, changed or cannot be read again, and what to do; or what `each` says.
pub fn packets(call: &Call, mut each: impl FnMut(&Captured) -> Result<(), String>) -> Result<u64, String> {
    check(call)?;
    std::thread::scope(|scope| {
        let sources: Vec<_> = (0..call.files.len())
            .map(|file| {
                let (to, from) = sync_channel(QUEUE_PACKETS_MAX);
                (scope.spawn(move || send(call, file, &to)), from)
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

/// The octets of each message of the call's ladder, in its order; none where they could not be put together again.
///
/// # Errors
/// As [`packets`].
pub fn messages(call: &Call) -> Result<Vec<Option<Vec<u8>>>, String> {
    check(call)?;
    let mut texts = vec![None; call.ladder.messages.len()];
    for file in 0..call.files.len() {
        scan(call, file, |hit| {
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
/// Which file is gone or changed, and what to do.
pub fn check(call: &Call) -> Result<(), String> {
    if call.files.len() > FILES_MAX {
        return Err(format!("the call lies in {} files, and at most {FILES_MAX} are read side by side", call.files.len()));
    }
    if call.files.is_empty() {
        return Err("the store does not know which files hold this call: read the capture again".to_owned());
    }
    for (file, path) in call.files.iter().enumerate() {
        if path == "-" {
            return Err("the call was read from standard input, which is gone: save the capture to a file and read that".to_owned());
        }
        check_file(call, file, Path::new(path))?;
    }
    Ok(())
}

fn check_file(call: &Call, file: usize, path: &Path) -> Result<(), String> {
    let messages = call.ladder.messages.iter().filter(|m| usize::from(m.file) == file);
    let mut wanted: Vec<(u64, i64)> = messages.map(|m| (m.offset, m.at_ns)).collect();
    wanted.sort_unstable();
    wanted.dedup_by_key(|w| w.0);
    let offsets: Vec<u64> = wanted.iter().map(|w| w.0).collect();
    let mut right = 0;
    let changed = || format!("{} has changed since it was read: read it again", path.display());
    if !path.exists() {
        return Err(format!("{} is not there any more: put it back, or read it again from where it is now", path.display()));
    }
    reread(path, &offsets, |packet, _| right += usize::from(wanted.contains(&(packet.offset, packet.at_ns))))
        .map_err(|e| if right < wanted.len() { changed() } else { unreadable(&e) })?;
    if right == wanted.len() { Ok(()) } else { Err(changed()) }
}

fn unreadable(error: &FileError) -> String {
    error.to_string()
}

fn send(call: &Call, file: usize, to: &SyncSender<Captured>) -> Result<(), String> {
    scan(call, file, |hit| match hit {
        Hit::Packet(packet, octets) => match to.send(Captured { packet: *packet, octets: octets.to_vec() }) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        },
        Hit::Message(..) => ControlFlow::Continue(()),
    })
}

/// Reads the part of a file that holds the call and hands out what belongs to it. A file that is damaged behind the
/// call's last packet was damaged when it was read: that is no reason to refuse.
fn scan(call: &Call, file: usize, mut each: impl FnMut(Hit<'_>) -> ControlFlow<()>) -> Result<(), String> {
    let mut pieces = Pieces::of(call, file);
    let path = Path::new(&call.files[file]);
    let until_ns = call.last_ns.saturating_add(AFTERWARDS_NS);
    let mut last_ns = i64::MIN;
    let read = reread_range(path, first_offset(call, file, &pieces)..=u64::MAX, |packet, octets| {
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
    let in_pieces = call.ladder.messages.iter().filter(here).any(|m| m.flags & Message::TCP != 0 || pieces.is_cut_up(m));
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
