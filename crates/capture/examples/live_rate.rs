//! How many packets a second can be sent and captured, without decoding. On a pair of interfaces, as root:
//!
//! ```text
//! ip link add left type veth peer name right; ip link set left up; ip link set right up
//! cargo run --release --example live_rate -- right packet 2 10 &   (or xdp, generic; rings or 0; seconds)
//! cargo run --release --example live_rate -- left send 214 8       (octets of a frame; seconds)
//! ```

use std::process::ExitCode;
use std::time::{Duration, Instant};

use trunkline_capture::live::{Live, Pace, PacketOptions, Sender, SenderOptions, XdpMode, XdpOptions, packet, xdp};
use trunkline_capture::{Batch, LiveError, Packet};

/// Flows that are sent.
const FLOWS: u16 = 1000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [interface, what, number, seconds] = &arguments[..] else {
        eprintln!("live_rate INTERFACE packet|xdp|generic RINGS SECONDS, or live_rate INTERFACE send OCTETS SECONDS");
        return ExitCode::from(2);
    };
    let number = number.parse().unwrap_or(0);
    let time = Duration::from_secs(seconds.parse().unwrap_or(10));
    let done = match what.as_str() {
        "send" => send(interface, usize::from(number), time),
        "packet" => packet::open(&PacketOptions { rings: number.max(1), ..PacketOptions::new(interface) })
            .map(|rings| capture(rings, time)),
        mode => {
            let best = if mode == "generic" { XdpMode::Generic } else { XdpMode::ZeroCopy };
            xdp::open(&XdpOptions { best, ..XdpOptions::new(interface) }).map(|rings| {
                println!("{}", rings.first().map_or_else(String::new, |ring| ring.mode().to_string()));
                capture(rings, time);
            })
        }
    };
    if let Err(error) = done {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Reads each ring on a thread of its own.
fn capture<L: Live + 'static>(rings: Vec<L>, time: Duration) {
    let read = |mut ring: L| {
        move || {
            let (mut batch, until, mut sum, mut fullest) = (Batch::default(), Instant::now() + time, 0, 0);
            while Instant::now() < until {
                if let Err(error) = ring.next(&mut batch, Duration::from_millis(200)) {
                    eprintln!("{error}");
                }
                // Touch each packet as a decoder would.
                let octet = |p: &Packet| batch.octets_of(p).get(12).copied().unwrap_or(0);
                sum += batch.packets.iter().map(|p| u64::from(octet(p))).sum::<u64>();
                fullest = fullest.max(ring.statistics().waiting_max);
            }
            (ring.statistics(), sum, fullest)
        }
    };
    let threads: Vec<_> = rings.into_iter().map(|ring| std::thread::spawn(read(ring))).collect();
    for (number, thread) in threads.into_iter().enumerate() {
        let Ok((s, sum, fullest)) = thread.join() else { continue };
        println!(
            "ring {number}: {} packets, {} octets, {} dropped, {} freezes, fullest {fullest} of {} ({sum})",
            s.packets, s.octets, s.drops, s.freezes, s.room
        );
    }
}

fn send(interface: &str, octets: usize, time: Duration) -> Result<(), LiveError> {
    let mut batch = Batch::default();
    for flow in 0..FLOWS {
        let frame = frame(flow, octets);
        let wire = frame.len() as u32;
        let packet = Packet { at_ns: 0, number: 0, offset: 0, start: 0, captured: 0, wire, link: 1, file: 0 };
        batch.push(packet, &frame);
    }
    let options = SenderOptions { interface: interface.to_owned(), pace: Pace::Fastest, bypass: false };
    let mut sender = Sender::open(options)?;
    let begin = Instant::now();
    while begin.elapsed() < time {
        sender.send(&batch)?;
    }
    let (sent, seconds) = (sender.sent(), begin.elapsed().as_secs_f64());
    println!(
        "sent {} packets, {:.0} a second, {:.2} Gbit/s, {} dropped",
        sent.packets,
        sent.packets as f64 / seconds,
        sent.octets as f64 * 8e-9 / seconds,
        sent.dropped
    );
    Ok(())
}

/// RTP-like: UDP between two addresses, a port for each flow.
fn frame(flow: u16, octets: usize) -> Vec<u8> {
    let payload = octets.saturating_sub(42);
    let half = |n: usize| (n as u16).to_be_bytes();
    let port = 10_000 + 2 * flow;
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
    frame.extend(half(28 + payload));
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    frame.extend([port.to_be_bytes(), port.to_be_bytes(), half(8 + payload), [0, 0]].concat());
    frame.resize(42 + payload, 0x55);
    frame
}
