//! `trunkline replay`: captures, or a part of the packet log, put onto an interface.

use crate::bar::Bar;
use crate::failure::Failure;
use crate::show::figure;
use crate::stop::Stop;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;
use trunkline_capture::live::{Pace, Sender, SenderOptions};
use trunkline_capture::{Batch, FileSource};
use trunkline_kit::exit::Exit;

/// Packets of a file that are handed to the sender at once: so that the end comes soon after Ctrl-C.
const BATCH_OCTETS: usize = 16 << 10;

/// Send the packets of capture files on an interface
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline replay office.pcap -i veth0                as it was captured\n  \
    trunkline replay office.pcap -i veth0 --pace 10x     ten times as fast\n  \
    trunkline replay busy.pcap -i veth0 --pace 200kpps   so many packets a second\n  \
    trunkline replay busy.pcap -i veth0 --pace 1Gbit/s   so many bits a second\n  \
    trunkline replay busy.pcap -i veth0 --pace max --loops 10\n\n\
    Needs CAP_NET_RAW. Never send to a network that is not yours. Exit code 3: not every packet was sent.")]
pub struct Replay {
    /// Capture files, merged by time
    #[arg(required = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// The interface to send on
    #[arg(short, long, value_name = "IFACE")]
    interface: String,
    /// Speed: 1x as recorded, 10x, 200kpps, 1Gbit/s, max
    #[arg(long, value_name = "PACE", default_value = "1x", value_parser = pace)]
    pace: Pace,
    /// Number of repetitions
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    loops: u32,
    /// Bypass the queueing discipline of the interface: faster, but packets are lost when its queue is full
    #[arg(long)]
    bypass: bool,
    /// Print statistics as JSON
    #[arg(long)]
    json: bool,
}

/// `1x`, `200kpps`, `1.5Gbit/s`, `max`.
fn pace(text: &str) -> Result<Pace, String> {
    let wrong = || "expected a pace such as 1x, 200kpps, 1Gbit/s or max".to_owned();
    if text == "max" {
        return Ok(Pace::Fastest);
    }
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    if number.is_nan() || number <= 0.0 || number.is_infinite() {
        return Err(wrong());
    }
    match unit {
        "x" => Ok(Pace::Recorded(number)),
        "pps" => Ok(Pace::Packets(number)),
        "kpps" => Ok(Pace::Packets(number * 1e3)),
        "Mpps" => Ok(Pace::Packets(number * 1e6)),
        "kbit/s" => Ok(Pace::Bits(number * 1e3)),
        "Mbit/s" => Ok(Pace::Bits(number * 1e6)),
        "Gbit/s" => Ok(Pace::Bits(number * 1e9)),
        _ => Err(wrong()),
    }
}

impl Replay {
    /// Sends.
    pub fn run(&self) -> Result<Exit, Failure> {
        let failed = |e: &dyn core::fmt::Display| Failure::Failed(e.to_string());
        let options = SenderOptions { interface: self.interface.clone(), pace: self.pace, bypass: self.bypass };
        let stop = Stop::on_signals();
        let begun = Instant::now();
        let mut sums = trunkline_capture::live::Sent::default();
        let mut broken = false;
        for _ in 0..self.loops {
            let mut sender = Sender::open(options.clone()).map_err(|e| failed(&e))?;
            let mut source = FileSource::open(&self.files).with_batch_octets(BATCH_OCTETS);
            let mut bar = Bar::start();
            let mut batch = Batch::default();
            while !stop.is_asked() && source.fill(&mut batch) {
                sender.send(&batch).map_err(|e| failed(&e))?;
                bar.draw(source.octets_read(), source.octets_total(), || {
                    figure::of(sender.sent().packets, "packet", "packets")
                });
            }
            bar.end();
            for file in source.files() {
                if let Some(error) = &file.error {
                    let _ = writeln!(std::io::stderr(), "trunkline: {error}");
                    broken = true;
                }
            }
            let sent = sender.sent();
            sums.packets += sent.packets;
            sums.octets += sent.octets;
            sums.refused += sent.refused;
            sums.dropped += sent.dropped;
            sums.cut += sent.cut;
            sums.late_ns_max = sums.late_ns_max.max(sent.late_ns_max);
        }
        self.tell(&sums, begun.elapsed().as_secs_f64())?;
        let whole = sums.refused + sums.dropped + sums.cut == 0 && !broken && !stop.is_asked();
        Ok(if whole { Exit::Done } else { Exit::Degraded })
    }

    fn tell(&self, sent: &trunkline_capture::live::Sent, seconds: f64) -> Result<(), Failure> {
        let mut out = std::io::stdout();
        let rate = sent.packets as f64 / seconds.max(1e-9);
        if self.json {
            let line = serde_json::json!({
                "packets": sent.packets, "octets": sent.octets, "refused": sent.refused, "dropped": sent.dropped,
                "cut": sent.cut, "late_ms_max": sent.late_ns_max as f64 / 1e6, "seconds": seconds,
                "packets_per_second": rate,
            });
            writeln!(out, "{line}")?;
            return Ok(());
        }
        writeln!(
            out,
            "{} sent on {} ({}) in {seconds:.3} s: {} packets/s, {:.1} Mbit/s, at most {:.3} ms late",
            figure::of(sent.packets, "packet was", "packets were"),
            self.interface,
            figure::octets(sent.octets),
            figure::count(rate as u64),
            sent.octets as f64 * 8.0 / seconds.max(1e-9) / 1e6,
            sent.late_ns_max as f64 / 1e6,
        )?;
        for (count, why) in [
            (sent.refused, "not sent: too long or too short for the interface, or of another link type"),
            (sent.dropped, "not sent: the queue of the interface was full"),
            (sent.cut, "sent as far as captured: the capture had cut them"),
        ] {
            if count > 0 {
                writeln!(out, "{} {why}", figure::of(count, "packet was", "packets were"))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_read_with_its_unit() {
        assert_eq!(pace("1x"), Ok(Pace::Recorded(1.0)));
        assert_eq!(pace("2.5x"), Ok(Pace::Recorded(2.5)));
        assert_eq!(pace("200kpps"), Ok(Pace::Packets(200_000.0)));
        assert_eq!(pace("1Gbit/s"), Ok(Pace::Bits(1e9)));
        assert_eq!(pace("max"), Ok(Pace::Fastest));
        for wrong in ["", "x", "1", "0x", "-1x", "1 furlong", "1.2.3x", "fast", "1e3pps"] {
            assert!(pace(wrong).is_err(), "{wrong}");
        }
    }
}
