//! From the command line to what the job is started with.

use super::extended::{Clients, Extended};
use super::{Cache, addresses};
use crate::cache::configured::{TOO_MANY, buffers, incoming};
use crate::cache::files::{self, Encryption, accounts};
use crate::cache::target::Target;
use crate::failure::Failure;
use std::time::Duration;
use trunkline_cache::job::{PeerStream, Setup, WarmUp};
use trunkline_cache::service::{Protocols, Settings};
use trunkline_cache::store::Rules;
use trunkline_net::{Full, Limits, Networks, Options};

/// The memcached whose protocols are spoken: what clients are told by `version`.
pub const PROTOCOL_VERSION: &str = "1.6.18";
/// How long a peer that says nothing is waited for at once: then it is looked whether the cache ends.
const PEER_LOOK: Duration = Duration::from_millis(500);

/// What to start, and the words of `-o`.
///
/// # Errors
/// Options that do not go together, or a file that cannot be read.
pub fn setup(cache: &Cache) -> Result<(Setup, Extended), Failure> {
    let extended = Extended::of(&cache.extended)?;
    if cache.max_item_size > cache.memory_limit {
        return Err(Failure::Usage("-I: an item cannot be larger than all of the memory (-m)".to_owned()));
    }
    let encryption = if cache.enable_ssl { Some(encryption(&extended)?) } else { None };
    let tls = encryption.as_ref().map(Encryption::load).transpose().map_err(Failure::Failed)?;
    let listens = addresses::listens(cache, tls.as_ref())?;
    let options = options(cache, &extended);
    let settings = settings(cache, &extended, encryption.as_ref(), options.threads)?;
    let rules = Rules {
        limit_octets: cache.memory_limit,
        item_octets_max: cache.max_item_size,
        evicts: !cache.disable_evictions,
        ..Rules::default()
    };
    let certificates = encryption.zip(tls).map(|(encryption, tls)| encryption.again(tls));
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
        held_octets: buffers(cache.memory_limit),
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

fn settings(
    cache: &Cache,
    extended: &Extended,
    encryption: Option<&Encryption>,
    threads: usize,
) -> Result<Settings, Failure> {
    let interface = if cache.listen.is_empty() { None } else { Some(cache.listen.join(",")) };
    Ok(Settings {
        version: PROTOCOL_VERSION.to_owned(),
        protocols: match cache.protocol.as_str() {
            "ascii" => Protocols::Text,
            "binary" => Protocols::Binary,
            _ => Protocols::Both,
        },
        accounts: cache.auth_file.as_deref().map(accounts).transpose().map_err(Failure::Failed)?,
        shutdown_enabled: cache.enable_shutdown,
        flush_enabled: !cache.disable_flush_all,
        dump_enabled: !cache.disable_dumping,
        watch_enabled: !cache.disable_watch,
        turn_requests_max: cache.max_reqs_per_event,
        udp_is_trusted: !cache.allow_udp.is_empty() || !cache.allow.is_empty(),
        udp_answer_octets_max: usize::try_from(cache.udp_answer_max).unwrap_or(usize::MAX),
        incoming_octets_max: incoming(cache.incoming_per_address, cache.memory_limit),
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
        tls: encryption.map(Encryption::told),
        slow_ms: cache.slow_ms,
    })
}

/// The files of TLS, as `-o` names them.
fn encryption(extended: &Extended) -> Result<Encryption, Failure> {
    let (Some(certificate), Some(key)) = (&extended.certificate, &extended.key) else {
        return Err(Failure::Usage("-Z needs -o ssl_chain_cert=FILE,ssl_key=FILE".to_owned()));
    };
    let issuers = || {
        let missing = || Failure::Usage("-o ssl_verify_mode: ssl_ca_cert=FILE says whose certificates are good".into());
        extended.issuers.clone().ok_or_else(missing)
    };
    let clients = match extended.clients {
        Clients::None => files::Clients::None,
        Clients::Request => files::Clients::Request(issuers()?),
        Clients::Require => files::Clients::Require(issuers()?),
    };
    Ok(Encryption { certificate: certificate.clone(), key: key.clone(), clients, oldest: extended.oldest })
}
