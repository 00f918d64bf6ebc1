//! Syslog (RFC 5424): a line for each alert, over UDP (RFC 5426), TCP (RFC 6587, octets counted) or TLS (RFC 5425).
//! MSGID is the state; the structured data have the identifiers of the message and of the alert, the same in a copy.

use super::sender::{Handed, Ready};
use super::wire::{Stream, connect, place, secure};
use crate::delivery::{Kind, Message, Notice, Outcomes};
use crate::rule::{Transport, Way};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UdpSocket;
use trunkline_kit::untrusted;
use trunkline_store::time::{SECOND_NS, rfc3339};

/// Octets of a line over UDP: what a datagram takes (RFC 5426 section 3.2 asks for 2048 at least).
const DATAGRAM_OCTETS_MAX: usize = 8192;
/// How long a server that was told all has to close its side, which says that it has read it.
const CLOSE: Duration = Duration::from_secs(2);

/// Sends a message.
pub async fn send(ready: &Ready, message: &Message, handed: &Handed) -> Outcomes {
    sent(ready, message, handed).await.map_or_else(|error| handed.failed(error), |()| Outcomes::Delivered)
}

async fn sent(ready: &Ready, message: &Message, handed: &Handed) -> io::Result<()> {
    let Way::Syslog { server, transport, facility, .. } = &ready.channel.way else { return Ok(()) };
    let host_name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let lines: Vec<String> = message.alerts.iter().map(|alert| line(message, alert, *facility, &host_name)).collect();
    let (host, port) = place(server)?;
    match transport {
        Transport::Udp => datagrams(&host, port, &lines, handed).await,
        Transport::Tcp => counted(connect(&host, port).await?, &lines, handed).await,
        Transport::Tls => {
            let stream = connect(&host, port).await?;
            counted(secure(ready.tls.as_ref(), &host, stream).await?, &lines, handed).await
        }
    }
}

async fn datagrams(host: &str, port: u16, lines: &[String], handed: &Handed) -> io::Result<()> {
    let mut places = tokio::net::lookup_host((host, port)).await?;
    let place = places.next().ok_or_else(|| io::Error::other("the server has no address"))?;
    let any = if place.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(place).await?;
    for line in lines {
        let octets = line.as_bytes();
        socket.send(&octets[..octets.len().min(DATAGRAM_OCTETS_MAX)]).await?;
        handed.over();
    }
    Ok(())
}

async fn counted(mut stream: impl Stream, lines: &[String], handed: &Handed) -> io::Result<()> {
    let octets: String = lines.iter().map(|line| format!("{} {line}", line.len())).collect();
    handed.over();
    stream.write_all(octets.as_bytes()).await?;
    stream.flush().await?;
    stream.shutdown().await?;
    // Syslog has no answers: that the server closes, too, is all that can be heard of it.
    let mut rest = [0; 256];
    let closed = async {
        while stream.read(&mut rest).await? > 0 {}
        Ok::<(), io::Error>(())
    };
    match tokio::time::timeout(CLOSE, closed).await {
        // Field: servers that close TLS without a word have read all before.
        Ok(Err(error)) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
        _ => Ok(()),
    }
}

fn line(message: &Message, alert: &Notice, facility: u32, host_name: &str) -> String {
    let severity = match (alert.kind, alert.severity()) {
        (Kind::Resolved | Kind::Suppressed, _) => 5,
        (_, "critical") => 2,
        (_, "info") => 6,
        _ => 4,
    };
    let time = rfc3339(alert.at_s.saturating_mul(SECOND_NS));
    let msgid = alert.kind.name().replace(' ', "-");
    let own = [("message", message.id.as_str()), ("alert", alert.incident.as_str())];
    let labels = alert.labels.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let parameters: String = own.into_iter().chain(labels).map(|(name, text)| parameter(name, text)).collect();
    let host: String = host_name.chars().filter(char::is_ascii_graphic).take(255).collect();
    let host = if host.is_empty() { "-" } else { &host };
    let text = alert.line();
    let text = untrusted::line(&text);
    let priority = facility * 8 + severity;
    // 32473 is the number for examples (RFC 5612): the project has none of its own.
    format!(
        "<{priority}>1 {time} {host} trunkline {} {msgid} [alert@32473{parameters}] \u{feff}{text}",
        std::process::id()
    )
}

/// A parameter (RFC 5424 section 6.3.3): a name of printable ASCII, and a text in which three characters are escaped.
fn parameter(name: &str, text: &str) -> String {
    let fits = |c: &char| c.is_ascii_graphic() && !"=]\"".contains(*c);
    let name: String = name.chars().filter(fits).take(32).collect();
    if name.is_empty() { String::new() } else { format!(" {name}=\"{}\"", untrusted::syslog_value(text)) }
}
