//! `trunkline extract`: packets out of the packet log, and out of captures.

mod listen;

use crate::bar::Bar;
use crate::command::packet_log::Part;
use crate::failure::Failure;
use crate::feed::{Question, Sink, What, call, matching, query};
use crate::output::{cannot_write, create};
use crate::show::figure;
use crate::terminal::Terminal;
use serde_json::json;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use trunkline_capture::PcapWriter;
use trunkline_kit::exit::Exit;
use trunkline_record::index::Span;
use trunkline_record::job::{Found, SegmentFile, Summary};
use trunkline_store::time::rfc3339;

/// Extract packets from the packet log by time and expression
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline extract host 192.0.2.7 --from 2026-11-20T10:00 --to 2026-11-20T10:05 -w host.pcapng\n  \
    trunkline extract 'udp port 5060 and net 10.1.0.0/16' --from 2026-11-20 -w - | wireshark -k -i -\n  \
    trunkline extract 'inner host 10.45.0.3 and not inner port 53' -w subscriber.pcapng\n  \
    trunkline extract --call 018f332b-12e0-7c7f -w call.pcapng\n  \
    trunkline extract vlan 7 -r old.pcap -r older.pcap -w vlan7.pcap\n  \
    trunkline extract udp port 5060 --live -w - | tshark -r -\n  \
    trunkline extract --listen 5555 --live udp port 5060      then: wireshark -k -i TCP@127.0.0.1:5555\n\n\
    Expressions are those of pcap-filter(7); 'inner' before a word asks the innermost headers of a tunnel.\n\
    Packets are in time order; at equal times in the order of folders and files, then class and lane.\n\
    Times are in your time zone unless they have an offset.\n\
    Exit code 3: a segment was broken or unreadable; the rest was extracted.")]
pub struct Extract {
    /// Packet filter expression; without one, all packets
    #[arg(value_name = "EXPRESSION", conflicts_with = "call")]
    expression: Vec<String>,
    /// Output file: pcap if the name ends in .pcap or .cap, else pcapng; - is standard output
    #[arg(short = 'w', long = "write", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    #[arg(required_unless_present = "listen")]
    write: Option<PathBuf>,
    /// Serve it as pcapng to each client that connects (PCAP-over-IP); a port alone is one of 127.0.0.1. With another
    /// address, anyone who can connect to it can read the packets
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "write", value_parser = listen::address)]
    listen: Option<SocketAddr>,
    /// Follow the log: new packets as they are recorded
    #[arg(long, conflicts_with_all = ["from", "to", "call", "read"])]
    live: bool,
    /// Packets of a call: its ID, the beginning of one, or its Call-ID
    #[arg(long, value_name = "ID", conflicts_with_all = ["from", "to", "classes"])]
    call: Option<String>,
    /// Capture file to read instead of the log; repeat the option for more
    #[arg(short = 'r', long = "read", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    read: Vec<PathBuf>,
    /// Stop after this many packets
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Print a summary as one JSON object: to standard output, or to standard error with -w -
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    part: Part,
}

impl Extract {
    /// Extracts.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let question = self.question(terminal)?;
        // What cannot be answered is told now, also to who is going to serve it.
        let files = question.files()?;
        if let Some(address) = self.listen {
            return listen::serve(address, question, self.json);
        }
        let path = self.write.as_deref().unwrap_or(Path::new("-"));
        let mut out = ToFile { out: Out::create(path, &files)?, bar: Bar::start() };
        drop(files);
        let done = question.answer(&mut out);
        out.bar.end();
        let packets = out.out.finish()?;
        let done = done?;
        question.tell_faults(&done);
        self.tell(&done, packets, path)
    }

    fn question(&self, terminal: &Terminal) -> Result<Question, Failure> {
        let what = match &self.call {
            Some(_) if !self.read.is_empty() => {
                return Err(Failure::Usage("--call looks into the packet log: it does not go with -r".to_owned()));
            }
            Some(id) => What::Call(call(id, &self.part.data, &terminal.zone)?),
            None => {
                let query = query(&self.expression.join(" "))?;
                let span = if self.live { Span::ALL } else { self.part.span(terminal)? };
                let selection = matching(query, span);
                if self.live { What::Newest(selection) } else { What::Matching(selection) }
            }
        };
        let limit = self.limit.unwrap_or(u64::MAX);
        Ok(Question { what, part: self.part.clone(), read: self.read.clone(), limit })
    }

    /// Says what was done; the exit code.
    fn tell(&self, summary: &Summary, packets: u64, path: &Path) -> Result<Exit, Failure> {
        if self.json {
            let line = object(summary, packets).to_string();
            if path.as_os_str() == "-" { writeln!(io::stderr(), "{line}")? } else { writeln!(io::stdout(), "{line}")? }
        } else {
            let _ = write_text(summary, packets, path);
        }
        let whole = summary.faults.is_empty() && summary.absent.is_empty() && summary.refused.is_empty();
        Ok(if whole { Exit::Done } else { Exit::Degraded })
    }
}

fn write_text(summary: &Summary, packets: u64, path: &Path) -> io::Result<()> {
    let mut error = io::stderr();
    for (path, why) in &summary.remade {
        writeln!(error, "trunkline: {}: {why}", path.display())?;
    }
    if path.as_os_str() == "-" {
        return Ok(());
    }
    let (found, files) = (figure::of(packets, "packet", "packets"), figure::of(summary.files, "file", "files"));
    let read = figure::octets(summary.octets_read + summary.index_octets);
    let total = figure::octets(summary.octets_total);
    writeln!(error, "{found} written to {}; {read} read of {total} in {files}", path.display())
}

fn object(s: &Summary, packets: u64) -> serde_json::Value {
    let remade: Vec<_> =
        s.remade.iter().map(|(path, why)| json!({"path": path.to_string_lossy(), "why": why})).collect();
    let broken: Vec<String> = s.faults.iter().map(ToString::to_string).collect();
    let refused: Vec<_> = s.refused.iter().map(|(link, why)| json!({"link": link, "why": why})).collect();
    json!({
        "packets": packets, "files": s.files, "files_read": s.files_read, "pages": s.pages,
        "octets_read": s.octets_read, "index_octets": s.index_octets, "octets_total": s.octets_total,
        "packets_tested": s.packets_tested, "indexes_remade": remade, "broken": broken, "absent": s.absent,
        "left_out": refused,
    })
}

/// A file that is written, with a bar.
struct ToFile {
    out: Out,
    bar: Bar,
}

impl Sink for ToFile {
    fn take(&mut self, found: &Found) -> Result<bool, Failure> {
        self.out.write(found.at_ns, found.link, found.wire, &found.octets).map(|()| true)
    }

    fn rest(&mut self) -> Result<bool, Failure> {
        self.out.flush().map(|()| true)
    }

    fn progress(&mut self, done: u64, total: u64) {
        self.bar.draw(done, total, || figure::of(self.out.packets, "packet", "packets"));
    }
}

/// The file that is written.
pub struct Out {
    path: PathBuf,
    writer: PcapWriter<io::BufWriter<Box<dyn Write + Send>>>,
    /// Packets written.
    pub packets: u64,
    last_ns: i64,
}

impl Out {
    /// Makes or empties the file, unless it is one of those that are read.
    ///
    /// # Errors
    /// It is one of those, or cannot be made.
    pub fn create(path: &Path, read: &[SegmentFile]) -> Result<Out, Failure> {
        let same = |file: &SegmentFile| match (file.path.canonicalize(), path.canonicalize()) {
            (Ok(a), Ok(b)) => a == b,
            _ => false,
        };
        if path.as_os_str() != "-" && read.iter().any(same) {
            return Err(Failure::Usage(format!("{} is read itself: write to another file", path.display())));
        }
        let out = create(path)?;
        let pcap = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("pcap") || e.eq_ignore_ascii_case("cap"));
        let writer = if pcap { PcapWriter::pcap(out) } else { PcapWriter::pcapng(out) };
        Ok(Out { path: path.to_path_buf(), writer, packets: 0, last_ns: i64::MIN })
    }

    /// Writes a packet.
    ///
    /// # Errors
    /// It cannot be written, or is of another link type than pcap can hold beside the others.
    pub fn write(&mut self, at_ns: i64, link: u16, wire: u32, octets: &[u8]) -> Result<(), Failure> {
        self.writer.write(at_ns, link, wire, octets).map_err(|e| match e.kind() {
            io::ErrorKind::InvalidInput => Failure::Failed(
                "the packets are of several link types, which pcap cannot hold: name a file that ends in .pcapng"
                    .to_owned(),
            ),
            _ => cannot_write(&self.path, &e),
        })?;
        (self.packets, self.last_ns) = (self.packets + 1, at_ns);
        Ok(())
    }

    /// Sends on what is gathered.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.writer.flush().map_err(|e| cannot_write(&self.path, &e))
    }

    /// Ends the file; how many packets are in it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(self) -> Result<u64, Failure> {
        self.writer.finish().map_err(|e| cannot_write(&self.path, &e))?;
        Ok(self.packets)
    }
}

/// A time of JSON, or null.
pub fn time(at_ns: i64) -> serde_json::Value {
    if at_ns == i64::MIN || at_ns == i64::MAX { serde_json::Value::Null } else { rfc3339(at_ns).into() }
}
