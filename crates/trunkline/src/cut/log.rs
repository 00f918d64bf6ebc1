//! A call cut out of the packet log, wherever the files are that it was read from.
//!
//! The row knows the time of every message and both ends of every stream. The index leads to the flows between these
//! ends; of their packets those are taken that complete a message of the row at its time, with the Call-ID in it where
//! it was captured, and all RTP and RTCP between the ends of its streams.

use super::absent;
use super::pieces::{Hit, Pieces, media};
use crate::command::packet_log::segments;
use crate::failure::Failure;
use core::ops::ControlFlow;
use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use trunkline_capture::Packet;
use trunkline_capture::filter::Expression;
use trunkline_record::Class;
use trunkline_record::index::Span;
use trunkline_record::job::{Extraction, Found, Selection, Summary, Wanted};
use trunkline_record::query::{PRIMITIVES_MAX, Query, parse};
use trunkline_store::row::Call;
use trunkline_wire::{Decoded, Endpoint, decode};

/// How long before its first message the segments and fragments of a call may begin, nanoseconds.
const BEFORE_NS: i64 = 5_000_000_000;
/// How long after the last packet of a call its RTCP is still looked for, nanoseconds.
const AFTERWARDS_NS: i64 = 1_000_000_000;

type Pairs = HashSet<(Endpoint, Endpoint)>;
/// Packets of messages, the octets of each message of a ladder where they were put together, what was done.
type Messages = (VecDeque<Found>, Vec<Option<Vec<u8>>>, Summary);
/// Takes a packet; false when it has enough.
type Each<'e> = dyn FnMut(&Found) -> Result<bool, Failure> + 'e;

/// Hands the packets of a call in the logs of these data folders to `each`, in time order, until `stop` is true.
///
/// # Errors
/// A folder cannot be listed, or what `each` says. Broken segments are told in the summary.
pub fn packets(call: &Call, data: &[PathBuf], stop: &AtomicBool, each: &mut Each<'_>) -> Result<Summary, Failure> {
    let (mut signalling, texts, mut summary) = messages(call, data, stop)?;
    let ended = || !stop.load(Ordering::Relaxed);
    summary.absent.extend(absent::messages(call, &texts, &signalling).filter(|_| ended()));
    let mut sent = absent::Sent::default();
    let pairs = media(call);
    let selection = selection(call, &pairs);
    let files = segments(data, selection.span, &[Class::Rtp, Class::Other])?;
    let files = if pairs.is_empty() { &[] } else { files.as_slice() };
    let mut streams = Extraction::until(files, &selection, &Expression, &|_| {}, stop);
    let mut next = streams.next();
    let mut failed = None;
    while failed.is_none() {
        let first = match (signalling.front(), &next) {
            (Some(message), Some(packet)) => message.at_ns <= packet.at_ns,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => {
                summary.absent.extend(sent.absent(call).filter(|_| ended()));
                break;
            }
        };
        if let Some(packet) = next.as_ref().filter(|_| !first) {
            sent.add(decode(packet.link, &packet.octets));
        }
        let found = if first { signalling.pop_front() } else { core::mem::replace(&mut next, streams.next()) };
        match found.map_or(Ok(true), |found| each(&found)) {
            Ok(true) => {}
            Ok(false) => break,
            Err(failure) => failed = Some(failure),
        }
    }
    add(&mut summary, streams.finish());
    failed.map_or(Ok(summary), Err)
}

/// The packets that carry the call's messages, in time order, and the octets of each message of its ladder: those that
/// were found until `stop` was true.
///
/// # Errors
/// A folder cannot be listed.
pub fn messages(call: &Call, data: &[PathBuf], stop: &AtomicBool) -> Result<Messages, Failure> {
    let host = |i: u8| call.ladder.hosts.get(usize::from(i)).copied();
    let pairs: Pairs = call.ladder.messages.iter().filter_map(|m| Some((host(m.src)?, host(m.dst)?))).collect();
    let selection = selection(call, &pairs);
    let files = segments(data, selection.span, &[Class::Sip, Class::Other])?;
    let files = if pairs.is_empty() { &[] } else { files.as_slice() };
    let mut extraction = Extraction::until(files, &selection, &Expression, &|_| {}, stop);
    let mut texts = vec![None; call.ladder.messages.len()];
    let mut found = Vec::new();
    let mut pieces = Pieces::by_time(call);
    while let Some(packet) = extraction.next() {
        let (file, octets) = (packet.file, &packet.octets);
        let _ = pieces.offer(&of_found(&packet), octets, &mut |hit| {
            match hit {
                Hit::Packet(packet, octets) => found.push(to_found(packet, file, octets)),
                Hit::Message(at, octets) => texts[at] = Some(octets.to_vec()),
            }
            ControlFlow::Continue(())
        });
    }
    found.sort_by_key(|packet: &Found| packet.at_ns);
    Ok((found.into(), texts, extraction.finish()))
}

/// Which packets go between these ends while the call lasts.
fn selection(call: &Call, pairs: &Pairs) -> Selection {
    let streams = call.streams.iter().map(|s| s.first_ns);
    let first_ns = streams.chain([call.start_ns]).min().unwrap_or(call.start_ns).saturating_sub(BEFORE_NS);
    let last_ns = call.last_ns.saturating_add(AFTERWARDS_NS);
    let hosts: HashSet<_> = pairs.iter().map(|(a, b)| (a.address, b.address)).collect();
    let ends = pairs.clone();
    let chosen = move |link: u16, octets: &[u8]| match decode(link, octets) {
        Decoded::Udp(d) | Decoded::Tcp(d, _) | Decoded::Sctp(d) => {
            ends.contains(&(d.from(), d.to())) || ends.contains(&(d.to(), d.from()))
        }
        Decoded::Fragment(f) => hosts.contains(&(f.src, f.dst)) || hosts.contains(&(f.dst, f.src)),
        _ => false,
    };
    Selection { query: query(pairs), span: Span { first_ns, last_ns }, wanted: Wanted::Chosen(Box::new(chosen)) }
}

/// What leads the index to these flows: all of it, where they are too many to be named.
fn query(pairs: &Pairs) -> Query {
    let mut texts: Vec<String> = pairs
        .iter()
        .map(|(a, b)| if a <= b { (a, b) } else { (b, a) })
        .map(|(a, b)| {
            let (ah, ap, bh, bp) = (a.address, a.port, b.address, b.port);
            format!("inner (host {ah} and port {ap} and host {bh} and port {bp})")
        })
        .collect();
    texts.sort();
    texts.dedup();
    if texts.len() * 4 > PRIMITIVES_MAX {
        return Query::all();
    }
    parse(&texts.join(" or ")).unwrap_or_else(|_| Query::all())
}

fn of_found(found: &Found) -> Packet {
    let captured = u32::try_from(found.octets.len()).unwrap_or(u32::MAX);
    let Found { at_ns, offset, link, wire, .. } = *found;
    Packet { at_ns, number: 0, offset, start: 0, captured, wire, link, file: 0 }
}

fn to_found(packet: &Packet, file: usize, octets: &[u8]) -> Found {
    let Packet { at_ns, offset, link, wire, .. } = *packet;
    Found { at_ns, file, offset, link, wire, octets: octets.to_vec() }
}

/// Adds what was done for the streams to what was done for the messages.
fn add(sum: &mut Summary, more: Summary) {
    sum.files += more.files;
    sum.files_read += more.files_read;
    sum.pages += more.pages;
    sum.index_octets += more.index_octets;
    sum.octets_read += more.octets_read;
    sum.octets_total += more.octets_total;
    sum.packets_tested += more.packets_tested;
    sum.packets += more.packets;
    for remade in more.remade {
        if !sum.remade.iter().any(|(path, _)| *path == remade.0) {
            sum.remade.push(remade);
        }
    }
    for fault in more.faults {
        if !sum.faults.contains(&fault) {
            sum.faults.push(fault);
        }
    }
    sum.absent.extend(more.absent);
    sum.refused.extend(more.refused);
}
