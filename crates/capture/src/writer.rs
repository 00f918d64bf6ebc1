//! Writing capture files: nanosecond pcap, or pcapng where link types are mixed or losses and secrets go along.

use std::io::{self, Write};

use trunkline_wire::pcap::{self, PACKET_OCTETS_MAX};
use trunkline_wire::pcapng::{self, emit::Statistics};

/// Octets that are gathered before they are written.
const BUFFER_OCTETS: usize = 256 << 10;
/// Name of the program, as section headers bear it.
const APPLICATION: &str = concat!("trunkline ", env!("CARGO_PKG_VERSION"));

/// Writes a capture file. What was written is whole only after [`PcapWriter::finish`].
pub struct PcapWriter<W: Write> {
    to: W,
    buffer: Vec<u8>,
    format: Format,
}

enum Format {
    /// Its link type, once there is a packet.
    Pcap(Option<u16>),
    /// The interfaces described: link type and name.
    Pcapng(Vec<(u16, String)>),
}

impl<W: Write> PcapWriter<W> {
    /// A nanosecond pcap file. It holds packets of one link type: that of the first packet.
    pub fn pcap(to: W) -> Self {
        PcapWriter { to, buffer: Vec::new(), format: Format::Pcap(None) }
    }

    /// A pcapng file. An interface is described for each link type and name.
    pub fn pcapng(to: W) -> Self {
        let mut buffer = Vec::new();
        pcapng::emit::section(&mut buffer, APPLICATION);
        PcapWriter { to, buffer, format: Format::Pcapng(Vec::new()) }
    }

    /// Writes a packet of which `octets` were captured, of `wire` octets.
    ///
    /// # Errors
    /// What writing gives; [`io::ErrorKind::InvalidInput`] for a second link type in pcap.
    pub fn write(&mut self, at_ns: i64, link: u16, wire: u32, octets: &[u8]) -> io::Result<()> {
        self.write_from("", at_ns, link, wire, octets, None)
    }

    /// Writes a packet of a named interface, with a comment; pcap has place for neither.
    ///
    /// # Errors
    /// As [`PcapWriter::write`].
    pub fn write_from(
        &mut self,
        interface: &str,
        at_ns: i64,
        link: u16,
        wire: u32,
        octets: &[u8],
        comment: Option<&str>,
    ) -> io::Result<()> {
        match &mut self.format {
            Format::Pcap(known) => {
                if *known.get_or_insert_with(|| begin_pcap(&mut self.buffer, link)) != link {
                    let text = "a pcap file holds packets of one link type: write pcapng";
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
                }
                pcap::emit::record(&mut self.buffer, at_ns, wire, octets);
            }
            Format::Pcapng(interfaces) => {
                let number = interface_number(&mut self.buffer, interfaces, link, interface);
                pcapng::emit::packet(&mut self.buffer, number, at_ns, wire, octets, comment);
            }
        }
        self.write_out(BUFFER_OCTETS)
    }

    /// Writes interface statistics. Nothing in pcap.
    ///
    /// # Errors
    /// What writing gives.
    pub fn write_statistics(&mut self, statistics: &Statistics) -> io::Result<()> {
        if matches!(self.format, Format::Pcapng(_)) {
            pcapng::emit::statistics(&mut self.buffer, statistics);
        }
        self.write_out(BUFFER_OCTETS)
    }

    /// Writes decryption secrets; they must come before the packets that they decrypt. Nothing in pcap.
    ///
    /// # Errors
    /// What writing gives.
    pub fn write_secrets(&mut self, kind: u32, octets: &[u8]) -> io::Result<()> {
        if matches!(self.format, Format::Pcapng(_)) {
            pcapng::emit::secrets(&mut self.buffer, kind, octets);
        }
        self.write_out(BUFFER_OCTETS)
    }

    /// Sends on what is gathered, for who reads along while the file is written.
    ///
    /// # Errors
    /// What writing gives.
    pub fn flush(&mut self) -> io::Result<()> {
        self.write_out(1)?;
        self.to.flush()
    }

    /// Writes what is left and gives the writer back. A pcap file without packets is one of Ethernet.
    ///
    /// # Errors
    /// What writing gives.
    pub fn finish(mut self) -> io::Result<W> {
        if let Format::Pcap(known @ None) = &mut self.format {
            *known = Some(begin_pcap(&mut self.buffer, 1));
        }
        self.write_out(1)?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn write_out(&mut self, at_least: usize) -> io::Result<()> {
        if self.buffer.len() >= at_least {
            self.to.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

fn begin_pcap(buffer: &mut Vec<u8>, link: u16) -> u16 {
    pcap::emit::header(buffer, link, PACKET_OCTETS_MAX);
    link
}

/// The number of an interface, described here if it is new.
fn interface_number(buffer: &mut Vec<u8>, known: &mut Vec<(u16, String)>, link: u16, name: &str) -> u32 {
    let at = known.iter().position(|(l, n)| *l == link && n == name).unwrap_or_else(|| {
        pcapng::emit::interface(buffer, link, PACKET_OCTETS_MAX, (!name.is_empty()).then_some(name));
        known.push((link, name.into()));
        known.len() - 1
    });
    at as u32
}
