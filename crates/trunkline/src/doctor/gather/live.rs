//! The packets of an interface, looked at for as long as it is watched.

use crate::doctor::mirror::{Look, Mirror};
use std::time::{Duration, Instant};
use trunkline_capture::live::{Live, Next, PacketOptions, packet};
use trunkline_capture::{Batch, LiveError};

/// Interfaces whose packets are looked at; each takes a ring and a thread.
pub const LOOKED_AT_MAX: usize = 8;
/// Packets of one interface that are looked at: enough to judge it.
pub const PACKETS_MAX: u64 = 1_000_000;
/// Octets of the ring.
const RING: usize = 16 << 20;
/// How long one wait for packets is.
const WAIT: Duration = Duration::from_millis(100);

/// Looks at what comes until that time.
///
/// # Errors
/// Why the interface cannot be captured at.
pub fn look(name: &str, mtu: Option<u32>, end: Instant) -> Result<Mirror, String> {
    // On the loopback a packet that is sent is one that comes: without this, each would be seen twice.
    let options = PacketOptions { ring_octets: RING, outgoing: name != "lo", ..PacketOptions::new(name) };
    let mut rings = packet::open(&options).map_err(|e| e.to_string())?;
    let Some(ring) = rings.first_mut() else { return Err("it has no ring".to_owned()) };
    let (mut batch, mut look) = (Batch::default(), Look::new(mtu));
    while Instant::now() < end && look.packets() < PACKETS_MAX {
        match ring.next(&mut batch, WAIT) {
            Ok(Next::Packets) => {
                for packet in &batch.packets {
                    look.packet(packet.at_ns, packet.link, packet.wire, batch.octets_of(packet));
                }
            }
            Ok(Next::Nothing) => {}
            Err(error) if error.passes() => break,
            Err(error) => return Err(LiveError::to_string(&error)),
        }
    }
    Ok(look.result())
}
