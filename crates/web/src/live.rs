//! What is live: one task looks once a second, and all clients that see the same get the same octets. A client that is
//! slow misses frames, never holds one up.

mod alerts;
mod attention;
mod ended;
mod history;
mod parts;
mod rates;

use crate::auth::{GraphScope, mask};
use crate::moment;
use crate::paths;
use crate::sources::{CallUp, CallsUp, LiveSnapshot};
use crate::state::Web;
use crate::work::Owner;
pub use alerts::{LiveAlerts, run as watch_alerts};
pub use attention::Attention;
use attention::Look;
use axum::body::Bytes;
pub use ended::CallBrief;
use ended::Ended;
use history::History;
pub use history::{HISTORY_EVERY_S, Moment};
use parts::Parts;
use rates::Ratings;
pub use rates::{LastMinute, Rates};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use trunkline_store::time::rfc3339;
use utoipa::ToSchema;

/// Clients of the live feed at a time.
// Limit: clients of the live feed
// Beyond: a further client is refused
// Seen in: `trunkline_web_live_clients_overflow_total`
pub const LIVE_CLIENTS_MAX: usize = 200;
/// Of these, of one user, also through tokens.
// Limit: clients of the live feed of one user
// Beyond: a further client is refused
// Seen in: `trunkline_web_live_clients_overflow_total`
pub const LIVE_CLIENTS_OF_ONE_MAX: usize = 20;
/// Calls that are up that a frame lists.
pub const UP_LISTED_MAX: usize = 50;
/// How often the live task looks.
const EVERY: Duration = Duration::from_secs(1);
/// Frames between two words of life while nothing runs.
const IDLE_EVERY: u64 = 5;

/// The capture as it stands, with rates: data of the event `status`.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Status {
    /// When it was taken, RFC 3339.
    pub at: String,
    /// When the capture began, RFC 3339.
    pub since: String,
    /// The totals.
    #[serde(flatten)]
    pub snapshot: LiveSnapshot,
    /// What happens a second.
    pub rates: Rates,
    /// What somebody should look at.
    pub attention: Vec<Attention>,
    /// Calls that ended in the last minute.
    pub last_minute: LastMinute,
}

impl Status {
    /// With what is to be said of alerts, which comes first.
    fn with(mut self, alerts: Option<&LiveAlerts>) -> Self {
        let attention = alerts.map(|alerts| alerts.attention.clone()).unwrap_or_default();
        self.attention.splice(0..0, attention);
        self
    }

    /// For who may not see whole numbers.
    pub fn masked(mut self) -> Self {
        self.last_minute.worst.iter_mut().for_each(CallBrief::mask);
        self
    }
}

/// Data of the event `calls`.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct LiveCalls {
    /// Calls that are up.
    pub total: u64,
    /// The newest of them.
    pub up: Vec<crate::sources::CallUp>,
    /// Calls that ended in the last minute, the last first.
    pub ended: Vec<CallBrief>,
}

impl LiveCalls {
    fn masked(mut self) -> Self {
        self.up.iter_mut().for_each(mask::call_up);
        self.ended.iter_mut().for_each(CallBrief::mask);
        self
    }
}

/// Data of the event `idle`.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Idle {
    /// Why there is nothing to see.
    pub why: String,
}

/// Where the live task leaves what it found.
pub struct Feed {
    whole: watch::Sender<Bytes>,
    masked: watch::Sender<Bytes>,
    clients: AtomicUsize,
    of_users: Mutex<HashMap<Owner, usize>>,
    /// What was found last, without what is to be said of alerts.
    last: Mutex<Option<Status>>,
    alerts: Mutex<LiveAlerts>,
    parts: Mutex<Parts>,
    history: Mutex<History>,
}

impl Default for Feed {
    fn default() -> Self {
        let (whole, masked) = (watch::Sender::new(Bytes::new()), watch::Sender::new(Bytes::new()));
        let (clients, of_users) = (AtomicUsize::new(0), Mutex::default());
        let (last, alerts, parts, history) = (Mutex::default(), Mutex::default(), Mutex::default(), Mutex::default());
        Feed { whole, masked, clients, of_users, last, alerts, parts, history }
    }
}

impl Feed {
    /// Clients that watch.
    pub fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    /// The last status as somebody with a scope sees it, with whole numbers; none if nothing runs.
    pub fn last(&self, scope: Option<&GraphScope>) -> Option<Status> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let alerts = match scope {
            None => Some(self.alerts()),
            Some(scope) => self.parts().alerts(scope),
        };
        Some(last.with(alerts.as_ref()))
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is open of alerts, as it was told last.
    pub fn alerts(&self) -> LiveAlerts {
        self.alerts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_alerts(&self, alerts: LiveAlerts) {
        *self.alerts.lock().unwrap_or_else(PoisonError::into_inner) = alerts;
    }

    /// The last ten minutes, oldest first.
    pub fn history(&self) -> Vec<Moment> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner).moments()
    }
}

/// One client of the feed; it counts as long as it lives.
pub struct Watching {
    web: Arc<Web>,
    user: Owner,
    scope: Option<Arc<GraphScope>>,
    frames: watch::Receiver<Bytes>,
}

impl Watching {
    /// Begins to watch what somebody with a scope sees; none if too many do, in all or of this user.
    pub fn begin(web: &Arc<Web>, user: Owner, masked: bool, scope: Option<Arc<GraphScope>>) -> Option<Self> {
        let feed = &web.feed;
        let mut of_users = feed.of_users.lock().unwrap_or_else(PoisonError::into_inner);
        let own = of_users.get(&user).copied().unwrap_or_default();
        if feed.clients() >= LIVE_CLIENTS_MAX || own >= LIVE_CLIENTS_OF_ONE_MAX {
            web.count(|c| c.live_overflow += 1);
            return None;
        }
        feed.clients.fetch_add(1, Ordering::Relaxed);
        of_users.insert(user, own + 1);
        drop(of_users);
        let mut frames = match &scope {
            Some(scope) => feed.parts().begin(scope, masked),
            None if masked => feed.masked.subscribe(),
            None => feed.whole.subscribe(),
        };
        if !frames.borrow().is_empty() {
            frames.mark_changed();
        }
        Some(Watching { web: Arc::clone(web), user, scope, frames })
    }

    /// The next frame, or the newest if several have come; none when the server ends.
    pub async fn next(&mut self) -> Option<Bytes> {
        let mut stopping = self.web.stopping.clone();
        tokio::select! {
            _ = stopping.wait_for(|stop| *stop) => None,
            changed = self.frames.changed() => changed.ok().map(|()| self.frames.borrow_and_update().clone()),
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let feed = &self.web.feed;
        self.scope.iter().for_each(|scope| feed.parts().end(scope));
        let mut of_users = feed.of_users.lock().unwrap_or_else(PoisonError::into_inner);
        feed.clients.fetch_sub(1, Ordering::Relaxed);
        match of_users.get_mut(&self.user) {
            Some(own) if *own > 1 => *own -= 1,
            _ => _ = of_users.remove(&self.user),
        }
    }
}

/// The live task: looks once a second until the server ends.
pub async fn run(web: Arc<Web>, mut stopping: watch::Receiver<bool>) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut look = Looking::default();
    for tick in 0u64.. {
        tokio::select! {
            _ = stopping.wait_for(|stop| *stop) => return,
            _ = ticks.tick() => {}
        }
        match snapshot(&web).await {
            Ok((snapshot, up, health)) => look.at(&web, snapshot, up, health).await,
            Err(health) => look.idle(&web, tick, &health),
        }
    }
}

/// What runs, or why nothing does.
async fn snapshot(web: &Arc<Web>) -> Result<(LiveSnapshot, CallsUp, Vec<String>), Vec<String>> {
    let Some(live) = web.sources.live.clone() else { return Err(vec![]) };
    let paths = web.paths.clone();
    let asked = tokio::task::spawn_blocking(move || {
        let mut health = live.health();
        health.iter_mut().for_each(|line| *line = paths::named(line));
        let Some(mut snapshot) = live.snapshot() else { return Err(health) };
        let names = paths.names(snapshot.volumes.iter().map(|volume| volume.path.as_str()));
        for (volume, name) in snapshot.volumes.iter_mut().zip(names) {
            volume.path = name;
        }
        snapshot.unhealthy.iter_mut().for_each(|line| *line = paths::named(line));
        let mut up = live.calls_up(ended::UP_WATCHED_MAX);
        up.calls.truncate(ended::UP_WATCHED_MAX);
        up.calls.iter_mut().for_each(CallUp::cut);
        Ok((snapshot, up, health))
    });
    asked.await.unwrap_or_else(|_| Err(vec![]))
}

/// What the live task remembers from second to second.
#[derive(Default)]
struct Looking {
    ratings: Ratings,
    ended: Ended,
    look: Look,
    /// What was told of alerts last.
    alerts: LiveAlerts,
}

impl Looking {
    /// Nothing runs: that is told every few seconds, and at once what has become of alerts.
    fn idle(&mut self, web: &Web, tick: u64, health: &[String]) {
        *web.feed.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let alerts = web.feed.alerts();
        let is_due = tick.is_multiple_of(IDLE_EVERY);
        let told = Some(health.join("; ")).filter(|text| !text.is_empty());
        let why = told.unwrap_or_else(|| "No capture is running: the pages show stored calls only.".to_owned());
        let frame = |alerts: Option<&LiveAlerts>| {
            let mut frame = String::new();
            event(&mut frame, "idle", &Idle { why: why.clone() });
            alerts.into_iter().for_each(|alerts| event(&mut frame, "alerts", alerts));
            heartbeat(&mut frame);
            Bytes::from(frame)
        };
        if is_due || alerts != self.alerts {
            let frame = frame(Some(&alerts));
            web.feed.whole.send_replace(frame.clone());
            web.feed.masked.send_replace(frame);
            self.alerts = alerts;
        }
        for part in web.feed.parts().iter_mut().filter(|part| is_due || part.is_new() || part.alerts != part.told) {
            let frame = frame(part.alerts.as_ref());
            part.whole.send_replace(frame.clone());
            part.masked.send_replace(frame);
            part.told = part.alerts.clone();
        }
    }

    async fn at(&mut self, web: &Arc<Web>, mut snapshot: LiveSnapshot, mut up: CallsUp, health: Vec<String>) {
        for line in health {
            if !snapshot.unhealthy.contains(&line) {
                snapshot.unhealthy.push(line);
            }
        }
        let now_ns = snapshot.at_ns;
        self.ratings.sums(web, now_ns).await;
        self.ended.step(web, now_ns, &up).await;
        let mut rates = self.ratings.rates(&snapshot);
        let mut last_minute = self.ratings.last_minute();
        last_minute.worst = self.ended.worst();
        rates.answer_ratio = last_minute.answer_ratio();
        self.alerts = web.feed.alerts();
        let attention = self.look.at(web, &snapshot, &rates, &self.ratings).await;
        web.feed.history.lock().unwrap_or_else(PoisonError::into_inner).take(&snapshot, &rates);
        up.calls.truncate(UP_LISTED_MAX);
        let (at, since) = (rfc3339(snapshot.at_ns), rfc3339(snapshot.since_ns));
        let status = Status { at, since, snapshot, rates, attention, last_minute };
        let calls = LiveCalls { total: up.total, up: up.calls, ended: self.ended.listed() };
        *web.feed.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(status.clone());
        let hidden = (status.clone().masked(), calls.clone().masked());
        web.feed.whole.send_replace(frame(&status, &calls, Some(&self.alerts)));
        web.feed.masked.send_replace(frame(&hidden.0, &hidden.1, Some(&self.alerts)));
        for part in web.feed.parts().iter_mut() {
            for (frames, (status, calls)) in [(&part.whole, (&status, &calls)), (&part.masked, (&hidden.0, &hidden.1))]
            {
                if frames.receiver_count() > 0 {
                    frames.send_replace(frame(status, calls, part.alerts.as_ref()));
                }
            }
            part.told = part.alerts.clone();
        }
    }
}

/// The events of a second. What is open of alerts is left out where it was not asked yet.
fn frame(status: &Status, calls: &LiveCalls, alerts: Option<&LiveAlerts>) -> Bytes {
    let mut frame = String::new();
    event(&mut frame, "status", &status.clone().with(alerts));
    event(&mut frame, "calls", calls);
    alerts.into_iter().for_each(|alerts| event(&mut frame, "alerts", alerts));
    heartbeat(&mut frame);
    Bytes::from(frame)
}

fn heartbeat(frame: &mut String) {
    let _ = write!(frame, "event: heartbeat\ndata: {{\"at\":\"{}\"}}\n\n", rfc3339(moment::now_ns()));
}

/// JSON has no line feed of its own, so an event is one line of it.
fn event(frame: &mut String, name: &str, what: &impl Serialize) {
    let text = serde_json::to_string(what).unwrap_or_else(|_| "{}".to_owned());
    let _ = write!(frame, "event: {name}\ndata: {text}\n\n");
}
