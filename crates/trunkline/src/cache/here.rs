//! The cache of this process, as the status line, metrics and the web see it.

use super::told::{LISTED_MAX, shown};
use crate::run::config;
use crate::run::now_ns;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use trunkline_cache::job::{Figures, Job, samples};
use trunkline_cache::service::{Bar, Count, HotKey, SlowCommand};
use trunkline_job::{self as job, Figure};
use trunkline_kit::config::Section;
use trunkline_kit::metrics::Sample;
use trunkline_web::sources::{
    CacheBar, CacheHotKey, CacheMemory, CacheRefused, CacheSetting, CacheSlowCommand, CacheSnapshot,
};

/// Settings that are paths of this machine: whether they are set is told, and no more.
const PATHS: [&str; 4] = ["accounts", "certificate", "key", "client-issuers"];

/// A cache that runs here.
#[derive(Debug)]
pub struct Running {
    job: Arc<Job>,
    settings: Vec<CacheSetting>,
    /// It shows a certificate to clients.
    is_encrypted: bool,
    begun: Instant,
}

impl Running {
    /// A job that was started with this section.
    pub fn new(job: Job, section: &config::Cache) -> Self {
        let is_encrypted = section.certificate.is_some();
        Running { job: Arc::new(job), settings: settings(section), is_encrypted, begun: Instant::now() }
    }

    /// Where it listens by TCP, if it does.
    pub fn address(&self) -> Option<SocketAddr> {
        self.job.addresses().iter().flatten().next().copied()
    }

    /// Everything at this moment.
    pub fn snapshot(&self) -> CacheSnapshot {
        let figures = self.job.figures();
        let shape = self.job.shape();
        let most = self.settings.iter().find(|setting| setting.name == "connections");
        CacheSnapshot {
            at_ns: now_ns(),
            uptime_s: Some(self.begun.elapsed().as_secs()),
            version: format!("trunkline {}", env!("CARGO_PKG_VERSION")),
            connections_max: most.and_then(|setting| setting.value.parse().ok()),
            settings: self.settings.clone(),
            hot_keys: Some(self.job.hot_keys().into_iter().take(LISTED_MAX).map(hot_key).collect()),
            slow_commands: Some(self.job.slow_commands().into_iter().take(LISTED_MAX).map(slow).collect()),
            ages: shape.as_ref().map(|shape| bars(&shape.ages)),
            sizes: shape.as_ref().map(|shape| bars(&shape.sizes)),
            ..snapshot(&figures)
        }
    }
}

impl job::Job for Running {
    fn name(&self) -> &'static str {
        "cache"
    }

    fn figures(&self) -> Vec<Figure> {
        let figures = self.job.figures();
        let of = |count| figures.commands.of(count);
        let (hits, gets) = (of(Count::Hit), of(Count::Hit) + of(Count::Miss));
        let store = &figures.store;
        vec![
            Figure::PerSecond("gets/s", gets),
            Figure::Share("hits", hits, gets),
            Figure::PerSecond("sets/s", of(Count::Set)),
            Figure::PerSecond("evicted/s", store.evicted),
            Figure::Level("items", store.items),
            Figure::Fill("memory", store.used_octets as f64 / figures.limit_octets.max(1) as f64),
        ]
    }

    fn samples(&self) -> Vec<Sample> {
        samples(&self.job.figures())
    }

    /// Reads its certificates again, where it shows any.
    fn reload(&self) {
        if !self.is_encrypted {
            return;
        }
        if let Err(why) = self.job.refresh_certificates() {
            tracing::error!("cache: the previous certificate stays in use: {why}");
        }
    }

    /// What came is answered.
    fn stop(&self) -> Vec<String> {
        self.job.stop().err().map(|failed| format!("cache: {failed}")).into_iter().collect()
    }
}

/// The keys of the section and their values.
fn settings(section: &config::Cache) -> Vec<CacheSetting> {
    let value = |name: &str| {
        let text = section.text(name).unwrap_or_default();
        let is_path = PATHS.contains(&name) && text != "\"none\"";
        if is_path { "set".to_owned() } else { text.replace('"', "") }
    };
    let all = section.keys().into_iter().map(|key| CacheSetting { value: value(&key.name), name: key.name });
    // Where sockets are is told to nobody outside; how they are called says which.
    let listen = section.listen.iter().map(|door| match door {
        config::Door::Unix(path) => format!("unix:{}", path.file_name().unwrap_or_default().to_string_lossy()),
        door => door.to_string(),
    });
    let listen = listen.collect::<Vec<_>>().join(", ");
    all.map(
        |setting| if setting.name == "listen" { CacheSetting { value: listen.clone(), ..setting } } else { setting },
    )
    .collect()
}

fn snapshot(figures: &Figures) -> CacheSnapshot {
    let of = |count| figures.commands.of(count);
    let store = &figures.store;
    CacheSnapshot {
        gets_total: Some(of(Count::Hit) + of(Count::Miss)),
        hits_total: Some(of(Count::Hit)),
        sets_total: Some(of(Count::Set)),
        deletes_total: Some(of(Count::DeleteHit) + of(Count::DeleteMiss)),
        evicted_total: Some(store.evicted),
        evicted_unfetched_total: Some(store.evicted_unfetched),
        expired_total: Some(store.expired),
        received_octets_total: Some(of(Count::OctetsRead)),
        sent_octets_total: Some(of(Count::OctetsWritten)),
        items: Some(store.items),
        limit_octets: Some(figures.limit_octets),
        used_octets: Some(store.used_octets),
        memory: memory(figures),
        evicted_age_s: (store.evicted > 0).then_some(store.evicted_age_s),
        connections: Some(figures.held.connections as u64),
        connections_total: Some(figures.net.accepted - figures.net.refused()),
        refused: refused(figures),
        ..CacheSnapshot::default()
    }
}

fn hot_key(hot: HotKey) -> CacheHotKey {
    CacheHotKey { key: shown(&hot.key), requests_per_s: hot.requests_per_s, share: hot.share }
}

fn slow(slow: SlowCommand) -> CacheSlowCommand {
    CacheSlowCommand {
        unix_us: slow.unix_us,
        took_us: slow.took_us,
        served_us: slow.served_us,
        command: shown(slow.command.as_bytes()),
        key: shown(&slow.key),
        keys: slow.keys.into(),
        octets: slow.octets,
        peer: slow.peer,
        waited: slow.waited,
    }
}

fn bars(bars: &[Bar]) -> Vec<CacheBar> {
    let end = |bar: &Bar| (bar.up_to < u64::MAX).then_some(bar.up_to);
    bars.iter().map(|bar| CacheBar { up_to: end(bar), items: bar.items, octets: bar.octets }).collect()
}

fn memory(figures: &Figures) -> Vec<CacheMemory> {
    let store = &figures.store;
    let kinds = [
        ("items", store.segment_octets),
        ("large-values", store.large_octets),
        ("table", store.table_octets),
        ("buffers", store.charged_octets),
    ];
    kinds.map(|(kind, octets)| CacheMemory { kind: kind.to_owned(), octets }).to_vec()
}

fn refused(figures: &Figures) -> Vec<CacheRefused> {
    let (net, of) = (&figures.net, |count| figures.commands.of(count));
    let all = [
        ("connections", "there were too many", net.refused_full),
        ("connections", "their address had too many", net.refused_address),
        ("connections", "their network is not allowed", net.refused_network),
        ("connections", "too many handshakes of TLS were going on", net.refused_handshakes),
        ("connections", "the system could not take them in", net.refused_system),
        ("connections", "their handshake of TLS failed", net.closed_handshake + net.closed_handshake_late),
        ("connections", "they did not read their answers", net.closed_stalled),
        ("connections", "buffers had no room", net.closed_memory),
        ("values", "larger than an item may be", of(Count::TooLarge)),
        ("values", "there was no memory", of(Count::NoMemory)),
        ("datagrams", "their network is not allowed", net.datagrams_refused),
        ("datagrams", "they were no request", of(Count::DatagramsIgnored)),
        ("datagrams", "the kernel had no room for them", net.datagrams_overflow),
        ("answers", "too large for UDP", of(Count::AnswersTooLarge)),
        ("sign-ins", "wrong user or password", of(Count::AuthError)),
    ];
    let happened = all.into_iter().filter(|(.., total)| *total > 0);
    happened
        .map(|(what, cause, total)| CacheRefused { what: what.to_owned(), cause: cause.to_owned(), total })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::configured;
    use crate::run::config::{Cache, Door};
    use std::io::{Read, Write};
    use std::net::TcpStream;

    #[test]
    fn what_it_did_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let doors = vec![Door::Tcp("127.0.0.1:0".parse().unwrap()), Door::Unix(folder.path().join("c.sock"))];
        let section = Cache { listen: doors, threads: 1, ..Cache::default() };
        let job = configured::start(configured::open(&section).unwrap().unwrap(), &section).unwrap();
        let mut stream = TcpStream::connect(job.addresses()[0].unwrap()).unwrap();
        let running = Running::new(job, &section);
        stream.write_all(b"set a 0 0 1\r\nx\r\nget a b c\r\ndelete a\r\nset l 0 0 2000000\r\n").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
        let told = running.snapshot();
        let counts = [told.gets_total, told.hits_total, told.sets_total, told.deletes_total, told.items];
        assert_eq!(counts, [Some(3), Some(1), Some(1), Some(1), Some(0)]);
        assert_eq!((told.limit_octets, told.connections_max), (Some(64 << 20), Some(1024)));
        assert_eq!(told.refused.len(), 1, "{:?}", told.refused);
        assert_eq!((told.refused[0].what.as_str(), told.refused[0].total), ("values", 1));
        let taken: u64 = told.memory.iter().map(|memory| memory.octets).sum();
        assert_eq!(Some(taken), told.used_octets);
        let value = |name: &str| told.settings.iter().find(|s| s.name == name).map(|s| s.value.as_str());
        assert_eq!([value("listen"), value("memory")], [Some("127.0.0.1:0, unix:c.sock"), Some("64 MiB")]);
        assert_eq!(value("key"), Some("none"));
        let figures = job::Job::figures(&running);
        assert_eq!(figures[..2], [Figure::PerSecond("gets/s", 3), Figure::Share("hits", 1, 3)]);
        assert!(job::Job::samples(&running).iter().any(|sample| sample.name == "trunkline_cache_get_keys_total"));
        assert_eq!(job::Job::stop(&running), Vec::<String>::new());
    }
}
