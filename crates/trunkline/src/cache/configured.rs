//! From `[cache]` of the configuration to what the job is started with.

use super::files::{Clients, Encryption, accounts};
use crate::failure::Failure;
use crate::run::config::{Cache, ClientCertificates, Door};
use std::time::Duration;
use trunkline_cache::job::{Job, Opened, Setup};
use trunkline_cache::service::Settings;
use trunkline_cache::store::Rules;
use trunkline_net::{Full, Limits, Listen, Networks, OldestTls, Options, StartError, Tls};

/// What one connection too many is told, as memcached tells it.
pub const TOO_MANY: &[u8] = b"ERROR Too many open connections\r\n";

/// The cache of a configuration, listening, and not yet served; none where it names no address.
///
/// # Errors
/// A file that cannot be read, or an address that cannot be had, by its key.
pub fn open(cache: &Cache) -> Result<Option<Opened>, Failure> {
    if cache.listen.is_empty() {
        return Ok(None);
    }
    let opened = Job::open(setup(cache)?).map_err(|e| Failure::Failed(format!("cache.listen: {e}")))?;
    Ok(Some(opened))
}

/// Begins to serve, and says in the log where.
///
/// # Errors
/// The system has no thread left.
pub fn start(opened: Opened, cache: &Cache) -> Result<Job, StartError> {
    let job = opened.start()?;
    for (door, address) in cache.listen.iter().zip(job.addresses()) {
        match (door, address) {
            (Door::Tcp(_), Some(address)) => tracing::info!("cache at {address}"),
            (Door::Tls(_), Some(address)) => tracing::info!("cache at tls:{address}"),
            (Door::Udp(_), Some(address)) => tracing::info!("cache at udp:{address}"),
            (door, _) => tracing::info!("cache at {door}"),
        }
    }
    let is_known = !cache.allow.is_empty() || cache.accounts.is_some();
    let is_open = |door: &Door| matches!(door, Door::Tcp(at) | Door::Udp(at) if !at.ip().is_loopback());
    if !is_known && cache.listen.iter().any(is_open) {
        tracing::warn!("the cache accepts any client; restrict it with cache.allow");
    }
    Ok(job)
}

/// What the job is started with.
fn setup(cache: &Cache) -> Result<Setup, Failure> {
    let encryption = encryption(cache);
    let tls = encryption.as_ref().map(Encryption::load).transpose();
    let tls = tls.map_err(|why| Failure::Failed(format!("cache.certificate: {why}")))?;
    let options = options(cache);
    let rules = Rules {
        limit_octets: cache.memory.0,
        item_octets_max: cache.item_size.0,
        evicts: cache.evict,
        ..Rules::default()
    };
    let settings = settings(cache, encryption.as_ref(), options.threads)?;
    let listens = cache.listen.iter().map(|door| listen(door, cache, tls.as_ref())).collect();
    let certificates = encryption.zip(tls).map(|(encryption, tls)| encryption.again(tls));
    Ok(Setup { rules, settings, listens, options, certificates, warm_up: None })
}

/// The files of TLS, where an address speaks it: that they are named is checked with the configuration.
fn encryption(cache: &Cache) -> Option<Encryption> {
    let issuers = cache.client_issuers.clone().unwrap_or_default();
    let clients = match cache.client_certificates {
        ClientCertificates::None => Clients::None,
        ClientCertificates::Request => Clients::Request(issuers),
        ClientCertificates::Require => Clients::Require(issuers),
    };
    let (certificate, key) = (cache.certificate.clone()?, cache.key.clone()?);
    Some(Encryption { certificate, key, clients, oldest: OldestTls::default() })
}

fn listen(door: &Door, cache: &Cache, tls: Option<&Tls>) -> Listen {
    match door {
        Door::Tcp(address) => Listen::Tcp { address: *address, tls: None },
        Door::Tls(address) => Listen::Tcp { address: *address, tls: tls.cloned() },
        Door::Udp(address) => Listen::Udp { address: *address },
        Door::Unix(path) => Listen::Unix { path: path.clone(), mode: cache.unix_mode.0 },
    }
}

fn options(cache: &Cache) -> Options {
    let allow_udp = if cache.allow_udp.is_empty() { &cache.allow } else { &cache.allow_udp };
    let networks = |allowed: &[crate::run::config::Network]| match allowed {
        [] => Networks::all(),
        allowed => Networks::only(allowed.iter().map(|network| network.0).collect()),
    };
    let options = Options::default();
    let limits = Limits {
        connections: cache.connections as usize,
        full: Full::Refuse(TOO_MANY.to_vec()),
        connections_per_address: cache.connections_per_address.map(|most| most as usize),
        idle: cache.idle_timeout.filter(|idle| !idle.is_zero()),
        held_octets: buffers(cache.memory.0),
        ..options.limits
    };
    Options {
        threads: if cache.threads == 0 { options.threads } else { usize::from(cache.threads) },
        tcp_networks: networks(&cache.allow),
        udp_networks: networks(allow_udp),
        limits,
        ..options
    }
}

/// Octets that buffers may have of so much memory: they are part of it.
pub fn buffers(memory: u64) -> usize {
    usize::try_from(memory / 4).unwrap_or(usize::MAX)
}

/// Octets of values on their way from one address, where they are several: as told, or a quarter of the memory.
pub fn incoming(told: Option<u64>, memory: u64) -> u64 {
    told.unwrap_or(memory / 4)
}

fn settings(cache: &Cache, encryption: Option<&Encryption>, threads: usize) -> Result<Settings, Failure> {
    let known = cache.accounts.as_deref().map(accounts).transpose();
    let known = known.map_err(|why| Failure::Failed(format!("cache.accounts: {why}")))?;
    let port = |of: fn(&Door) -> Option<u16>| cache.listen.iter().find_map(of).unwrap_or(0);
    let interface: Vec<String> = cache.listen.iter().filter(|d| !is_unix(d)).map(Door::to_string).collect();
    Ok(Settings {
        accounts: known,
        flush_enabled: cache.flush,
        dump_enabled: cache.dump,
        watch_enabled: cache.watch,
        udp_is_trusted: !cache.allow_udp.is_empty() || !cache.allow.is_empty(),
        udp_answer_octets_max: usize::try_from(cache.udp_answer_max.0).unwrap_or(usize::MAX),
        incoming_octets_max: incoming(cache.incoming_per_address.map(|most| most.0), cache.memory.0),
        threads: u32::try_from(threads).unwrap_or(u32::MAX),
        tcp_port: port(|door| match door {
            Door::Tcp(at) | Door::Tls(at) => Some(at.port()),
            _ => None,
        }),
        udp_port: port(|door| if let Door::Udp(at) = door { Some(at.port()) } else { None }),
        interface: (!interface.is_empty()).then(|| interface.join(",")),
        unix_socket: cache.listen.iter().find_map(|door| match door {
            Door::Unix(path) => Some(path.to_string_lossy().into_owned()),
            _ => None,
        }),
        unix_mode: cache.unix_mode.0,
        connections_max: cache.connections,
        idle_timeout_s: cache.idle_timeout.map_or(0, seconds),
        tls: encryption.map(Encryption::told),
        slow_ms: cache.slow_from.map_or(0, |slow| u32::try_from(slow.as_millis().max(1)).unwrap_or(u32::MAX)),
        ..Settings::default()
    })
}

fn is_unix(door: &Door) -> bool {
    matches!(door, Door::Unix(_))
}

/// Whole seconds, at least one.
fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs().max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    fn at(listen: Vec<Door>) -> Cache {
        Cache { listen, threads: 1, ..Cache::default() }
    }

    #[test]
    fn without_an_address_there_is_none() {
        assert!(open(&Cache::default()).unwrap().is_none());
    }

    #[test]
    fn it_serves_where_it_is_said_and_as_it_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let doors = vec![Door::Tcp("127.0.0.1:0".parse().unwrap()), Door::Unix(socket.clone())];
        let cache = Cache { flush: false, idle_timeout: Some(Duration::from_millis(1)), ..at(doors) };
        let job = start(open(&cache).unwrap().unwrap(), &cache).unwrap();
        let mut stream = TcpStream::connect(job.addresses()[0].unwrap()).unwrap();
        stream.write_all(b"flush_all\r\nstats settings\r\nquit\r\n").unwrap();
        let mut told = String::new();
        stream.read_to_string(&mut told).unwrap();
        assert!(told.starts_with("CLIENT_ERROR flush_all not allowed\r\n"), "{told}");
        for line in ["maxbytes 67108864", "num_threads 1", "flush_enabled no", "dump_enabled yes", "idle_timeout 1"] {
            assert!(told.contains(&format!("STAT {line}\r\n")), "no {line} in {told}");
        }
        assert!(told.contains(&format!("STAT domain_socket {}\r\n", socket.display())), "{told}");
        job.stop().unwrap();
    }

    #[test]
    fn what_cannot_be_had_is_told_by_its_key() {
        let told = |cache: &Cache| match open(cache) {
            Err(Failure::Failed(why)) => why,
            other => panic!("{other:?}"),
        };
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = at(vec![Door::Tcp(taken.local_addr().unwrap())]);
        assert!(told(&taken).starts_with("cache.listen: "), "{}", told(&taken));
        let free = at(vec![Door::Tls("127.0.0.1:0".parse().unwrap())]);
        let nowhere = Some("/nowhere/at/all".into());
        let unread = Cache { accounts: nowhere.clone(), ..free.clone() };
        assert!(told(&unread).starts_with("cache.accounts: /nowhere/at/all"));
        let unread = Cache { certificate: nowhere.clone(), key: nowhere, ..free };
        assert!(told(&unread).starts_with("cache.certificate: /nowhere/at/all"));
    }
}
