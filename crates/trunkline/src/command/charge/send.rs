//! `trunkline charge send`: files of records to charging gateways over GTP'.

use super::place::Place;
use crate::charge::configured;
use crate::failure::Failure;
use crate::rights;
use crate::stop::Stop;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;
use trunkline_charge::gateway::{Records, packet};
use trunkline_charge::job::{SendSetup, Sending, Sent};
use trunkline_kit::exit::Exit;
use trunkline_wire::cdr::file::{FileError, Records as Packed};
use trunkline_wire::gtpp::{PORT, cause};

/// Octets of a file: it is read as a whole.
const FILE_OCTETS_MAX: u64 = 1 << 30;
/// Send record files (TS 32.297) to charging gateways by GTP', each record once
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline charge send ocs1_-_42.*.ber --to cgf1.example.org --to cgf2.example.org\n\n\
    A packet that the first gateway may have goes to the second one as possibly duplicated, and is settled when the\n\
    first one is back. What was interrupted goes on with the same command: no record is sent to billing twice.")]
pub struct Send {
    #[command(flatten)]
    place: Place,
    /// The files, in order
    #[arg(value_name = "FILE", required = true, value_hint = clap::ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// Gateway, HOST or HOST:PORT (3386), primary first; repeat the option for more
    #[arg(long, value_name = "HOST:PORT", required = true)]
    to: Vec<String>,
    /// Source address; use one per sender, because gateways identify senders by it
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0")]
    from: IpAddr,
    /// Response timeout in milliseconds (T3-RESPONSE)
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(10..=60_000))]
    t3: u64,
    /// Transmissions of a request before its gateway counts as down (N3-REQUESTS)
    #[arg(long, value_name = "NUM", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    n3: u32,
}

impl Send {
    /// Sends until all is where it belongs, or it is told to stop.
    ///
    /// # Errors
    /// A file that cannot be read, a gateway without an address, a log that cannot be written.
    pub fn run(&self) -> Result<Exit, Failure> {
        let failed = |error: io::Error| Failure::Failed(format!("sending: {error}"));
        let stop = Stop::on_signals();
        let name = self.name()?;
        rights::write_as_owner(self.place.data(), &[configured::FOLDER])?;
        let setup = SendSetup {
            folder: configured::folder(self.place.data()).join("send"),
            gateways: self.gateways()?,
            from: self.from,
            t3: Duration::from_millis(self.t3),
            n3: self.n3,
        };
        let mut sending = Sending::open(&setup, &name).map_err(failed)?;
        let before = usize::try_from(sending.queued()).unwrap_or(usize::MAX);
        let mut packets = self.files.iter().flat_map(|path| packets(path)).skip(before);
        while !stop.is_asked() {
            if sending.step(&mut packets).map_err(failed)? {
                return Ok(told(&sending.sent()));
            }
        }
        let Sent { queued, kept, .. } = sending.sent();
        eprintln!(
            "trunkline charge: {queued} packets, {kept} of them in flight: run the same command again to \
            continue"
        );
        Ok(Exit::Failed)
    }

    fn gateways(&self) -> Result<Vec<SocketAddr>, Failure> {
        let resolve = |text: &String| {
            let found = text.to_socket_addrs().or_else(|_| (text.as_str(), PORT).to_socket_addrs());
            let usable = |address: &SocketAddr| address.is_ipv4() == self.from.is_ipv4();
            let found = found.ok().and_then(|mut all| all.find(usable));
            found.ok_or_else(|| Failure::Failed(format!("--to {text}: no address of the family of --from")))
        };
        let gateways = self.to.iter().map(resolve).collect::<Result<Vec<_>, _>>()?;
        for (at, gateway) in gateways.iter().enumerate() {
            if gateways.iter().take(at).any(|other| other.ip() == gateway.ip()) {
                return Err(Failure::Usage(format!("--to: two gateways have the address {}", gateway.ip())));
            }
        }
        Ok(gateways)
    }

    /// What is sent: the names and lengths of the files.
    fn name(&self) -> Result<String, Failure> {
        let one = |path: &PathBuf| {
            let wrong = |why: &dyn std::fmt::Display| Failure::Failed(format!("{}: {why}", path.display()));
            let octets = std::fs::metadata(path).map_err(|e| wrong(&e))?.len();
            if octets > FILE_OCTETS_MAX {
                return Err(wrong(&format!("more than {FILE_OCTETS_MAX} octets")));
            }
            Ok(format!("{} ({octets} octets)", path.display()))
        };
        Ok(self.files.iter().map(one).collect::<Result<Vec<_>, _>>()?.join(", "))
    }
}

/// The packets of a file, or what is wrong with it.
fn packets(path: &Path) -> Vec<io::Result<Records>> {
    let wrong = |why: &dyn std::fmt::Display| io::Error::other(format!("{}: {why}", path.display()));
    let packets = std::fs::read(path).map_err(|e| wrong(&e)).and_then(|file| cut(&file).map_err(|e| wrong(&e)));
    packets.unwrap_or_else(|error| vec![Err(error)])
}

fn cut(file: &[u8]) -> Result<Vec<io::Result<Records>>, FileError> {
    let header = Packed::check(file)?;
    let (mut packets, mut rest) = (Vec::new(), &file[header.octets().min(file.len())..]);
    while let Some((records, octets)) = packet(rest)? {
        packets.push(Ok(records));
        rest = &rest[octets..];
    }
    Ok(packets)
}

fn told(sent: &Sent) -> Exit {
    let Sent { queued, refused, counts, .. } = sent;
    eprintln!(
        "trunkline charge: {queued} packets sent, {} of them first to another gateway, {} requests retried",
        counts.doubtful, counts.repeated
    );
    for (_, cause) in refused {
        eprintln!("trunkline charge: a packet was rejected: {cause} {}", cause::name(*cause).unwrap_or_default());
    }
    if refused.is_empty() { Exit::Done } else { Exit::Failed }
}
