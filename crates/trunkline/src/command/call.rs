//! `trunkline call`: everything about one call.

use crate::cli::DataFolder;
use crate::command::extract::Out;
use crate::command::packet_log::has_log;
use crate::cut;
use crate::failure::Failure;
use crate::feed::NEVER;
use crate::output::{cannot_write, create};
use crate::pager::Paged;
use crate::search;
use crate::show::text::{Line, Style, clean};
use crate::show::{call_page, figure, ladder, streams, table};
use crate::terminal::Terminal;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use trunkline_capture::PcapWriter;
use trunkline_kit::exit::Exit;
use trunkline_store::json;
use trunkline_store::row::Call;

/// Show a call: verdict, streams and ladder; or extract its packets
#[derive(Debug, clap::Args)]
#[command(
    name = "call",
    after_help = "Examples:\n  \
    trunkline call 018f332b-12e0-7c7f                 the beginning of an ID is enough\n  \
    trunkline call a84b4c76e66710@pc33.example.com    or its Call-ID\n  \
    trunkline call 018f332b-12e0-7c7f --pcap call.pcapng\n  \
    trunkline call 018f332b-12e0-7c7f --pcap - | wireshark -k -i -\n  \
    trunkline call 018f332b-12e0-7c7f --messages | less\n\n\
    --pcap and --messages read the capture files again: they must be in the same place, or in the packet log."
)]
pub struct Show {
    /// A call ID, the beginning of one, or a SIP Call-ID
    #[arg(value_name = "ID")]
    call: String,
    /// Show the ladder only
    #[arg(long, group = "what")]
    ladder: bool,
    /// Print the call with its ladder as one JSON object
    #[arg(long, group = "what")]
    json: bool,
    /// Write its SIP, RTP and RTCP packets to a file: pcapng if the name ends so, else pcap; - is standard output
    #[arg(long, group = "what", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pcap: Option<PathBuf>,
    /// Show the text of its SIP messages
    #[arg(long, group = "what")]
    messages: bool,
    #[command(flatten)]
    data: DataFolder,
}

impl Show {
    /// Finds the call and shows what is asked for.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let call = search::call(&search::open(&self.data)?, &self.call, &self.data, &terminal.zone)?;
        if let Some(path) = &self.pcap {
            return write_pcap(&call, path, &self.data);
        }
        let mut out = Paged::new(terminal);
        if self.json {
            let mut line = String::new();
            json::call_with_ladder(&mut line, &call);
            writeln!(out, "{line}")?;
        } else if self.messages {
            print_messages(&call, &self.data, terminal, &mut out)?;
        } else if self.ladder {
            table::write(&ladder::ladder(&call, terminal, usize::MAX), terminal, &mut out)?;
        } else {
            table::write(&page(&call, terminal), terminal, &mut out)?;
        }
        out.flush()?;
        Ok(Exit::Done)
    }
}

/// The whole page: verdict and summary, streams, ladder.
fn page(call: &Call, terminal: &Terminal) -> Vec<Line> {
    let mut lines = call_page::summary(call, terminal);
    lines.push(Line::new(terminal));
    if !call.streams.is_empty() {
        lines.extend(streams::streams(&call.streams, terminal));
        lines.push(Line::new(terminal));
    }
    lines.extend(ladder::ladder(call, terminal, usize::MAX));
    lines
}

/// Writes the packets of the call; standard error says how many.
fn write_pcap(call: &Call, path: &Path, data: &DataFolder) -> Result<Exit, Failure> {
    // What cannot be cut out is said before a file is made or emptied.
    if let Err(why) = cut::check(call, &NEVER) {
        return write_from_log(call, path, data, why);
    }
    if call.files.iter().any(|file| is_same(Path::new(file), path)) {
        return Err(Failure::Usage(format!("{} holds the call itself: write to another file", path.display())));
    }
    let out = create(path)?;
    let pcapng = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("pcapng") || e.eq_ignore_ascii_case("ntar"));
    let mut writer = if pcapng { PcapWriter::pcapng(out) } else { PcapWriter::pcap(out) };
    let mut failed = None;
    let written = cut::packets(call, &NEVER, |captured| {
        let packet = &captured.packet;
        writer.write(packet.at_ns, packet.link, packet.wire, &captured.octets).map_err(|e| {
            let mixed = e.kind() == io::ErrorKind::InvalidInput;
            let text =
                "its packets are of several link types, which pcap cannot hold: name a file that ends in .pcapng";
            failed = Some(if mixed { Failure::Failed(text.to_owned()) } else { cannot_write(path, &e) });
            String::new()
        })
    });
    let written = written.map_err(|text| failed.unwrap_or(Failure::Failed(text)))?;
    writer.finish().map_err(|e| cannot_write(path, &e))?;
    if path.as_os_str() != "-" {
        let packets = figure::of(written, "packet", "packets");
        let _ = writeln!(io::stderr(), "{packets} of the call written to {}", path.display());
    }
    Ok(Exit::Done)
}

/// Writes the packets of a call whose files are gone, if they are in the packet log.
fn write_from_log(call: &Call, path: &Path, data: &DataFolder, why: String) -> Result<Exit, Failure> {
    if !has_log(&data.path) {
        return Err(Failure::Failed(why));
    }
    let mut out = None;
    let done = cut::log::packets(call, std::slice::from_ref(&data.path), &NEVER, &mut |found| {
        let out = match &mut out {
            Some(out) => out,
            None => out.insert(Out::create(path, &[])?),
        };
        out.write(found.at_ns, found.link, found.wire, &found.octets).map(|()| true)
    })?;
    let Some(out) = out else {
        let folder = data.path.display();
        return Err(Failure::Failed(format!("{why}; nor is the call in the packet log in {folder}")));
    };
    let packets = figure::of(out.finish()?, "packet", "packets");
    for why in done.faults.iter().map(ToString::to_string).chain(done.absent.iter().cloned()) {
        let _ = writeln!(io::stderr(), "trunkline: {why}");
    }
    if path.as_os_str() != "-" {
        let _ = writeln!(io::stderr(), "{packets} of the call written to {} from the packet log", path.display());
    }
    Ok(if done.faults.is_empty() && done.absent.is_empty() { Exit::Done } else { Exit::Degraded })
}

fn is_same(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// Prints each message below a line that says when, from where, to where. The text is escaped line by line: a message
/// must not drive the terminal.
fn print_messages(call: &Call, data: &DataFolder, terminal: &Terminal, out: &mut dyn Write) -> Result<(), Failure> {
    let texts = match cut::messages(call, &NEVER) {
        Ok(texts) => texts,
        Err(why) if !has_log(&data.path) => return Err(Failure::Failed(why)),
        Err(why) => match cut::log::messages(call, std::slice::from_ref(&data.path), &NEVER)? {
            (packets, ..) if packets.is_empty() => return Err(Failure::Failed(why)),
            (_, texts, _) => texts,
        },
    };
    let arrow = terminal.glyph("→", "->");
    for (message, text) in call.ladder.messages.iter().zip(texts) {
        let host = |i: u8| call.ladder.hosts.get(usize::from(i)).copied().unwrap_or_default();
        let at = figure::full(message.at_ns, &terminal.zone);
        let title = format!("{at}  {} {arrow} {}  packet {}", host(message.src), host(message.dst), message.packet);
        Line::new(terminal).with(Style::Bold, &title).write(terminal.colour, out)?;
        match text {
            Some(octets) => {
                let text = String::from_utf8_lossy(&octets);
                for line in text.split('\n') {
                    writeln!(out, "{}", clean(line.strip_suffix('\r').unwrap_or(line), !terminal.unicode))?;
                }
            }
            None => writeln!(out, "(its text could not be put together again from its packets)\n")?,
        }
    }
    Ok(())
}
