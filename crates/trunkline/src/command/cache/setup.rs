//! From the command line to what the job is started with.

use super::extended::{Clients, Extended};
use super::target::Target;
use super::{Cache, addresses};
use crate::failure::Failure;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trunkline_cache::job::{Certificates, PeerStream, Setup, WarmUp};
use trunkline_cache::service::{Protocols, Settings, TlsSettings};
use trunkline_cache::store::Rules;
use trunkline_net::{ClientCertificates, Full, Limits, Networks, OldestTls, Options, Tls, issuers};

/// The memcached whose protocols are spoken: what clients are told by `version`.
pub const PROTOCOL_VERSION: &str = "1.6.18";
/// Octets of a file of certificates, keys or accounts.
const FILE_OCTETS_MAX: u64 = 1 << 20;
/// How long a peer that says nothing is waited for at once: then it is looked whether the cache ends.
const PEER_LOOK: Duration = Duration::from_millis(500);
/// The part of the memory that values on their way from one address may have, unless it is told.
const INCOMING_PART: u64 = 4;
/// What one connection too many is told, as memcached tells it.
const TOO_MANY: &[u8] = b"ERROR Too many open connections\r\n";

/// What to start, and the words of `-o`.
///
/// # Errors
/// Options that do not go together, or a file that cannot be read.
pub fn setup(cache: &Cache) -> Result<(Setup, Extended), Failure> {
    let extended = Extended::of(&cache.extended)?;
    if cache.max_item_size > cache.memory_limit {
        return Err(Failure::Usage("-I: an item cannot be larger than all of the memory (-m)".to_owned()));
    }
    let tls = if cache.enable_ssl { Some(encryption(&extended)?) } else { None };
    let listens = addresses::listens(cache, tls.as_ref())?;
    let options = options(cache, &extended);
    let settings = settings(cache, &extended, options.threads)?;
    let rules = Rules {
        limit_octets: cache.memory_limit,
        item_octets_max: cache.max_item_size,
        evicts: !cache.disable_evictions,
        ..Rules::default()
    };
    let certificates = tls.map(|tls| again(tls, &extended));
    let warm_up = cache.warm_from.clone().map(|peer| warm_up(peer, cache.warm_rate));
    Ok((Setup { rules, settings, listens, options, certificates, warm_up }, extended))
}

fn warm_up(peer: Target, octets_per_s: u64) -> WarmUp {
    let connect = move || peer.open(PEER_LOOK).map(|stream| Box::new(stream) as Box<dyn PeerStream>);
    WarmUp { connect: Box::new(connect), octets_per_s }
}

fn options(cache: &Cache, extended: &Extended) -> Options {
    let networks = |allowed: &[ipnet::IpNet]| match allowed {
        [] => Networks::all(),
        allowed => Networks::only(allowed.to_vec()),
    };
    let allow_udp = if cache.allow_udp.is_empty() { &cache.allow } else { &cache.allow_udp };
    let options = Options::default();
    let limits = Limits {
        connections: cache.conn_limit,
        full: if extended.waits { Full::Wait } else { Full::Refuse(TOO_MANY.to_vec()) },
        connections_per_address: cache.conn_limit_per_address,
        idle: (extended.idle_s > 0).then(|| Duration::from_secs(u64::from(extended.idle_s))),
        // Buffers are part of the memory; a quarter of it for those at most.
        held_octets: usize::try_from(cache.memory_limit / 4).unwrap_or(usize::MAX),
        backlog: cache.listen_backlog,
        ..options.limits
    };
    Options {
        threads: cache.threads.unwrap_or(options.threads),
        tcp_networks: networks(&cache.allow),
        udp_networks: networks(allow_udp),
        limits,
        ..options
    }
}

fn settings(cache: &Cache, extended: &Extended, threads: usize) -> Result<Settings, Failure> {
    let interface = if cache.listen.is_empty() { None } else { Some(cache.listen.join(",")) };
    Ok(Settings {
        version: PROTOCOL_VERSION.to_owned(),
        protocols: match cache.protocol.as_str() {
            "ascii" => Protocols::Text,
            "binary" => Protocols::Binary,
            _ => Protocols::Both,
        },
        accounts: cache.auth_file.as_deref().map(accounts).transpose()?,
        shutdown_enabled: cache.enable_shutdown,
        flush_enabled: !cache.disable_flush_all,
        dump_enabled: !cache.disable_dumping,
        watch_enabled: !cache.disable_watch,
        turn_requests_max: cache.max_reqs_per_event,
        udp_answer_octets_max: usize::try_from(cache.udp_answer_max).unwrap_or(usize::MAX),
        incoming_octets_max: cache.incoming_per_address.unwrap_or(cache.memory_limit / INCOMING_PART),
        prefix_delimiter: cache.delimiter.unwrap_or(b':'),
        detail: cache.delimiter.is_some(),
        threads: u32::try_from(threads).unwrap_or(u32::MAX),
        tcp_port: u16::try_from(cache.port).unwrap_or(0),
        udp_port: u16::try_from(cache.udp_port).unwrap_or(0),
        interface,
        unix_socket: cache.unix_socket.as_ref().map(|path| path.to_string_lossy().into_owned()),
        unix_mode: cache.unix_mask,
        connections_max: u32::try_from(cache.conn_limit).unwrap_or(u32::MAX),
        refuses_connections: !extended.waits,
        backlog: cache.listen_backlog,
        idle_timeout_s: extended.idle_s,
        tls: cache.enable_ssl.then(|| tls_settings(extended)),
        slow_ms: cache.slow_ms,
    })
}

fn tls_settings(extended: &Extended) -> TlsSettings {
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.to_string_lossy().into_owned());
    TlsSettings {
        certificate: path(&extended.certificate),
        key: path(&extended.key),
        issuers: path(&extended.issuers),
        verify_mode: match extended.clients {
            Clients::None => 0,
            Clients::Request => 1,
            Clients::Require => 2,
        },
        only_13: extended.oldest == OldestTls::V13,
    }
}

/// `user:password`, a line each; lines that are empty are passed over.
fn accounts(path: &Path) -> Result<Vec<(String, String)>, Failure> {
    let text = String::from_utf8(read(path)?);
    let text = text.map_err(|_| Failure::Failed(format!("{}: not text", path.display())))?;
    let mut accounts = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let account = line.split_once(':').filter(|(user, password)| !user.is_empty() && !password.is_empty());
        let Some((user, password)) = account else {
            let place = format!("{}:{}", path.display(), number + 1);
            return Err(Failure::Failed(format!("{place}: a line is user:password")));
        };
        accounts.push((user.to_owned(), password.to_owned()));
    }
    if accounts.is_empty() {
        return Err(Failure::Failed(format!("{}: nobody is in it", path.display())));
    }
    Ok(accounts)
}

fn encryption(extended: &Extended) -> Result<Tls, Failure> {
    let (certificate, key) = pair(extended)?;
    let asked = match (extended.clients, &extended.issuers) {
        (Clients::None, _) => ClientCertificates::None,
        (_, None) => {
            return Err(Failure::Usage("-o ssl_verify_mode: ssl_ca_cert=FILE says whose certificates are good".into()));
        }
        (clients, Some(path)) => {
            let issuers = issuers(&read(path)?).map_err(|e| Failure::Failed(format!("{}: {e}", path.display())))?;
            if clients == Clients::Require {
                ClientCertificates::Require(issuers)
            } else {
                ClientCertificates::Request(issuers)
            }
        }
    };
    let (certificate, key) = (read(certificate)?, read(key)?);
    Tls::new(&certificate, &key, &asked, extended.oldest).map_err(|e| Failure::Failed(format!("TLS: {e}")))
}

fn pair(extended: &Extended) -> Result<(&Path, &Path), Failure> {
    match (&extended.certificate, &extended.key) {
        (Some(certificate), Some(key)) => Ok((certificate, key)),
        _ => Err(Failure::Usage("-Z needs -o ssl_chain_cert=FILE,ssl_key=FILE".to_owned())),
    }
}

/// Reads the pair again, for `refresh_certs` and SIGHUP.
fn again(tls: Tls, extended: &Extended) -> Certificates {
    let path = |path: &Option<PathBuf>| path.clone().unwrap_or_default();
    let (certificate, key) = (path(&extended.certificate), path(&extended.key));
    Certificates(Box::new(move || {
        let pair = read(&certificate).and_then(|certificate| Ok((certificate, read(&key)?)));
        let (certificate, key) = pair.map_err(|_| "Error loading the certificate or its key".to_owned())?;
        tls.replace(&certificate, &key).map_err(|e| e.to_string())
    }))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let wrong = |why: String| Failure::Failed(format!("{}: {why}", path.display()));
    let octets = std::fs::metadata(path).map_err(|e| wrong(e.to_string()))?.len();
    if octets > FILE_OCTETS_MAX {
        return Err(wrong("larger than 1 MiB".to_owned()));
    }
    std::fs::read(path).map_err(|e| wrong(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn accounts_are_lines() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write!(file, "anna:secret:with colon\n\nben:x\n").unwrap();
        let known = accounts(file.path()).unwrap();
        assert_eq!(known[0], ("anna".to_owned(), "secret:with colon".to_owned()));
        assert_eq!(known.len(), 2);
        writeln!(file, "nobody").unwrap();
        let Err(Failure::Failed(text)) = accounts(file.path()) else { panic!("taken") };
        assert!(text.ends_with(":4: a line is user:password"), "{text}");
        assert!(accounts(Path::new("/nowhere/at/all")).is_err());
    }
}
