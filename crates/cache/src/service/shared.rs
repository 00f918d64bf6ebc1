//! What the threads of the cache share beside the store.

use super::Call;
use super::counters::{Ledger, Sums};
use super::facts::{Host, Settings};
use super::hot::{HotKey, Sketches};
use super::prefixes::{Prefixes, Use};
use super::set::Storing;
use super::shape::Shape;
use super::slow::{SlowCommand, SlowLog};
use super::watch::{Kind, Watchers, shown};
use crate::protocol::Now;
use crate::protocol::text::Mode;
use crate::store::{Counts, Store, Writer};
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const FETCHERS: u32 = Kind::Fetchers as u32;
const MUTATIONS: u32 = Kind::Mutations as u32;

/// The store, the settings, and what is counted and watched across threads.
pub struct Shared {
    pub(super) store: Arc<Store>,
    pub(super) settings: Settings,
    pub(super) host: Arc<dyn Host>,
    pub(super) ledger: Ledger,
    pub(super) watchers: Watchers,
    pub(super) prefixes: Prefixes,
    pub(super) hot: Sketches,
    pub(super) slow: SlowLog,
    shape: Mutex<Option<Arc<Shape>>>,
    pub(super) verbosity: AtomicU32,
    /// The second since 1970 of the store's second 0.
    pub(super) origin: AtomicI64,
    /// The store's second when the server started.
    pub(super) started: u32,
    /// The store's counts at the last `stats reset`.
    before: Mutex<Counts>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Shared {
    /// What the threads of a server share; `now` is when it starts.
    pub fn new(store: Arc<Store>, settings: Settings, host: Arc<dyn Host>, now: Now) -> Arc<Self> {
        let prefixes = Prefixes::default();
        prefixes.turn(settings.detail);
        Arc::new(Shared {
            store,
            settings,
            host,
            ledger: Ledger::default(),
            watchers: Watchers::default(),
            prefixes,
            hot: Sketches::default(),
            slow: SlowLog::default(),
            shape: Mutex::default(),
            verbosity: AtomicU32::new(0),
            origin: AtomicI64::new(now.origin()),
            started: now.second,
            before: Mutex::new(Counts::default()),
        })
    }

    /// What the threads have counted since the start or the last `stats reset`.
    pub fn sums(&self) -> Sums {
        self.ledger.sums()
    }

    /// What they have counted since the start, also if it was reset.
    pub fn sums_in_all(&self) -> Sums {
        self.ledger.sums_in_all()
    }

    /// Uses of keys that `stats detail` has no room for, since the start.
    pub fn detail_left_out(&self) -> u64 {
        self.prefixes.left_out.load(Ordering::Relaxed)
    }

    /// The level that `verbosity` was set to.
    pub fn verbosity(&self) -> u32 {
        self.verbosity.load(Ordering::Relaxed)
    }

    /// The keys that are asked for and written most, the hottest first.
    pub fn hot_keys(&self, now: Now) -> Vec<HotKey> {
        self.hot.hot_keys(now.unix_us)
    }

    /// The last commands that took long, the latest first.
    pub fn slow_commands(&self) -> Vec<SlowCommand> {
        self.slow.commands()
    }

    /// How many items of which size and age there were; none before they were all met once.
    pub fn shape(&self) -> Option<Arc<Shape>> {
        self.shape.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn publish(&self, shape: Arc<Shape>) {
        *self.shape.lock().unwrap_or_else(PoisonError::into_inner) = Some(shape);
    }

    /// A connection has come or gone: a line for those who watch that. `rest` is what follows `type=`, as memcached has
    /// it: `conn_new rip=127.0.0.1 rport=40000 transport=tcp cfd=7`.
    pub fn connection_event(&self, rest: &str, now: Now) {
        if self.watchers.want(Kind::ConnectionEvents as u32) {
            self.watchers.line(Kind::ConnectionEvents, now.unix_us, &format!("type={rest}"));
        }
    }

    /// What a thread's writer evicted: lines for those who watch that.
    #[cold]
    pub fn evicted(&self, writer: &mut Writer, now: Now) {
        let (items, untold) = writer.take_evicted();
        for item in items {
            let (key, fetched) = (shown(&item.key), if item.fetched { "yes" } else { "no" });
            let (left, idle, octets) = (item.left_s.map_or(-1, i64::from), item.idle_s, item.value_octets);
            let line = format!("type=eviction key={key} fetch={fetched} ttl={left} la={idle} clsid=1 size={octets}");
            self.watchers.line(Kind::Evictions, now.unix_us, &line);
        }
        self.watchers.skipped.fetch_add(untold, Ordering::Relaxed);
    }

    /// Has the store note what it evicts, if somebody watches that.
    pub(super) fn tell_store(&self) {
        self.store.tell_evicted(self.watchers.want(Kind::Evictions as u32));
    }

    pub(super) fn counts_before(&self) -> MutexGuard<'_, Counts> {
        self.before.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether anybody wants to know of single commands.
    #[inline]
    pub(super) fn listens(&self) -> bool {
        self.prefixes.is_on() || self.watchers.want(FETCHERS | MUTATIONS)
    }

    /// A key was looked for.
    #[cold]
    pub(super) fn fetched(&self, key: &[u8], found: bool, octets: u64, call: &Call<'_>) {
        if self.prefixes.is_on() {
            self.prefixes.count(key, self.settings.prefix_delimiter, if found { Use::Hit } else { Use::Miss });
        }
        if self.watchers.want(FETCHERS) {
            let (status, class) = if found { ("found", 1) } else { ("not_found", 0) };
            let (key, name) = (shown(key), call.name);
            let line = format!("type=item_get key={key} status={status} clsid={class} cfd={name} size={octets}");
            self.watchers.line(Kind::Fetchers, call.now.unix_us, &line);
        }
    }

    /// A value came, or was refused.
    #[cold]
    pub(super) fn stored(&self, key: &[u8], status: &str, storing: &Storing, octets: u64, call: &Call<'_>) {
        if !self.watchers.want(MUTATIONS) {
            return;
        }
        let command = match storing.mode {
            Mode::Set => "set",
            Mode::Add => "add",
            Mode::Replace => "replace",
            Mode::Append => "append",
            Mode::Prepend => "prepend",
            Mode::Cas => "cas",
        };
        let ttl = if storing.expiry == 0 { 0 } else { storing.expiry.saturating_sub(call.now.second) };
        let (key, name) = (shown(key), call.name);
        let line = format!(
            "type=item_store key={key} status={status} cmd={command} ttl={ttl} clsid=1 cfd={name} size={octets}"
        );
        self.watchers.line(Kind::Mutations, call.now.unix_us, &line);
    }

    /// A value is announced.
    #[inline]
    pub(super) fn set_seen(&self, key: &[u8]) {
        if self.prefixes.is_on() {
            self.prefixes.count(key, self.settings.prefix_delimiter, Use::Set);
        }
    }

    /// A key is to go.
    #[inline]
    pub(super) fn deleted(&self, key: &[u8]) {
        if self.prefixes.is_on() {
            self.prefixes.count(key, self.settings.prefix_delimiter, Use::Delete);
        }
    }
}
