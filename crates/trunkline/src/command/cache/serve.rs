//! Serving: opens, gives up privileges, tells where it listens, waits for the end.

use super::{Cache, daemon, image, setup};
use crate::cache::target::Target;
use crate::failure::Failure;
use crate::rights;
use crate::run::metrics::{self, Page};
use crate::run::status::process;
use crate::stop::Stop;
use signal_hook::consts::{SIGHUP, SIGUSR1};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trunkline_cache::job::{Figures, Job, samples};
use trunkline_kit::exit::Exit;
use trunkline_net::Listen;

/// How often it looks whether it was told to end.
const LOOK: Duration = Duration::from_millis(100);
/// How often `-v` prints statistics.
const STATUS: Duration = Duration::from_secs(10);

/// Serves until it is told to stop.
///
/// # Errors
/// What could not be opened, with what to do about it.
pub fn serve(cache: &Cache) -> Result<Exit, Failure> {
    // Of a huge page all is resident, whatever part is used: memory would be a third to a half more than `-m` says.
    // Where it cannot be had, it is so.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    let (setup, extended) = setup::setup(cache)?;
    let listens = setup.listens.clone();
    for why in cache.meaningless.told() {
        eprintln!("trunkline cache: no effect: {why}");
    }
    for (word, why) in &extended.meaningless {
        eprintln!("trunkline cache: no effect: -o {word}: {why}");
    }
    let (stop, again) = (Stop::on_signals(), Arc::new(AtomicBool::new(false)));
    // Without the signal a certificate is read again by `refresh_certs` alone.
    let _ = signal_hook::flag::register(SIGHUP, Arc::clone(&again));
    // memcached's signal for an end that keeps the items. Where it cannot be had, SIGTERM does the same.
    let _ = signal_hook::flag::register(SIGUSR1, stop.flag());
    let page = cache.metrics.as_ref().map(metrics::bind).transpose();
    let page = page.map_err(|e| Failure::Failed(format!("metrics cannot be served: {e}")))?;
    let mut opened = Job::open(setup).map_err(|e| Failure::Failed(e.to_string()))?;
    let sockets = listens.iter().filter_map(|listen| match listen {
        Listen::Unix { path, .. } => Some(path.as_path()),
        _ => None,
    });
    let sockets = sockets.chain(cache.metrics.as_ref().and_then(crate::run::config::Listen::path));
    let sockets: Vec<PathBuf> = sockets.map(Path::to_path_buf).collect();
    rights::give_up(cache.user.as_deref(), &sockets)?;
    let file = cache.memory_file.as_deref().map(image::claim).transpose()?;
    let recalled = file.as_ref().map_or(Ok(Exit::Done), |file| image::recall(&mut opened, file))?;
    let job = Arc::new(opened.start().map_err(|e| Failure::Failed(e.to_string()))?);
    announce(&listens, &job, cache);
    let _pidfile = cache.pidfile.as_deref().map(Pidfile::write).transpose()?;
    let shown = Arc::clone(&job);
    let page = page.map(|bound| {
        bound.serve(move || Page {
            samples: [samples(&shown.figures()), process::samples()].concat(),
            unhealthy: vec![],
        })
    });
    let page = page.transpose().map_err(|e| Failure::Failed(format!("metrics cannot be served: {e}")))?;
    daemon::ready();
    wait(&job, &stop, &again, cache);
    drop(page);
    job.stop().map_err(|e| Failure::Failed(e.to_string()))?;
    let saved = file.map_or(Exit::Done, |file| image::save(&job, file));
    Ok(if saved == Exit::Done { recalled } else { saved })
}

fn wait(job: &Job, stop: &Stop, again: &AtomicBool, cache: &Cache) {
    let (mut before, mut since) = (job.figures(), Instant::now());
    let (tells, mut warms) = (cache.verbose > 0, cache.warm_from.as_ref());
    while !stop.is_asked() && !job.wait(LOOK) {
        if again.swap(false, Ordering::Relaxed)
            && let Err(why) = job.refresh_certificates()
        {
            eprintln!("trunkline cache: certificates: {why}; the previous ones stay in use");
        }
        if let Some(peer) = warms {
            warms = Some(peer).filter(|peer| !tells_warmed(peer, job));
        }
        if tells && since.elapsed() >= STATUS {
            let now = job.figures();
            eprintln!("trunkline cache: {}", status(&before, &now, since.elapsed()));
            (before, since) = (now, Instant::now());
        }
    }
}

/// Tells how a warm-up went, if it has ended.
fn tells_warmed(peer: &Target, job: &Job) -> bool {
    let Some((warmed, ending)) = job.warmed().and_then(|warmed| Some((warmed.clone(), warmed.ending?))) else {
        return false;
    };
    let (mib, seconds) = (warmed.octets as f64 / f64::from(1 << 20), warmed.ms as f64 / 1000.0);
    let (items, skipped) = (warmed.items, warmed.skipped);
    let how = format!("{items} items, {mib:.1} MiB, in {seconds:.1} s, {skipped} left out");
    eprintln!("trunkline cache: warm-up from {peer}: {ending}; {how}");
    true
}

/// How it went since the last line.
fn status(before: &Figures, now: &Figures, passed: Duration) -> String {
    use trunkline_cache::service::Count::{Hit, Miss, Set};
    let of = |count| now.commands.of(count).saturating_sub(before.commands.of(count)) as f64;
    let rate = |number: f64| number / passed.as_secs_f64().max(1e-3);
    let gets = of(Hit) + of(Miss);
    let hits = if gets > 0.0 { format!("{:.1} % hits", 100.0 * of(Hit) / gets) } else { "no hits".to_owned() };
    let mib = |octets: u64| octets as f64 / f64::from(1 << 20);
    format!(
        "{:.0} gets/s, {hits}, {:.0} sets/s, {} items, {:.1} of {:.1} MiB, {:.0} evictions/s, {} connections",
        rate(gets),
        rate(of(Set)),
        now.store.items,
        mib(now.store.used_octets),
        mib(now.limit_octets),
        rate(now.store.evicted.saturating_sub(before.store.evicted) as f64),
        now.held.connections,
    )
}

fn announce(listens: &[Listen], job: &Job, cache: &Cache) {
    for (listen, address) in listens.iter().zip(job.addresses()) {
        let kind = match listen {
            Listen::Tcp { tls: Some(_), .. } => "TLS",
            Listen::Tcp { .. } => "TCP",
            Listen::Udp { .. } => "UDP",
            Listen::Unix { .. } => "unix socket",
        };
        let place = match (listen, address) {
            (Listen::Unix { path, .. }, _) => path.display().to_string(),
            (_, Some(address)) => address.to_string(),
            (other, None) => other.to_string(),
        };
        eprintln!("trunkline cache: {kind} {place}");
    }
    let open = listens.iter().zip(job.addresses()).any(|(_, a)| a.is_some_and(|a| !a.ip().is_loopback()));
    if open && cache.allow.is_empty() && cache.auth_file.is_none() && !cache.enable_ssl {
        eprintln!("trunkline cache: the cache accepts any client; restrict it with -l 127.0.0.1 or --allow NET");
    }
}

/// The file with the number of the process; removed at the end.
struct Pidfile(PathBuf);

impl Pidfile {
    fn write(path: &Path) -> Result<Self, Failure> {
        let text = format!("{}\n", std::process::id());
        fs::write(path, text).map_err(|e| Failure::Failed(format!("-P {}: {e}", path.display())))?;
        Ok(Pidfile(path.to_owned()))
    }
}

impl Drop for Pidfile {
    fn drop(&mut self) {
        // Who ends without the right to remove it leaves it, as memcached does.
        let _ = fs::remove_file(&self.0);
    }
}
