//! What those see live from whom some devices or graphs are hidden: the same seconds, with their own alerts. Who sees
//! the same part gets the same octets.

use super::LiveAlerts;
use crate::auth::GraphScope;
use axum::body::Bytes;
use std::sync::Arc;
use tokio::sync::watch;

/// A part that somebody watches. There are no more of them than clients.
pub struct Part {
    scope: Arc<GraphScope>,
    clients: usize,
    /// What is open of it; none before that was asked.
    pub(super) alerts: Option<LiveAlerts>,
    /// What was told of that last.
    pub(super) told: Option<LiveAlerts>,
    pub(super) whole: watch::Sender<Bytes>,
    pub(super) masked: watch::Sender<Bytes>,
}

impl Part {
    /// Whether somebody watches who was sent nothing yet.
    pub(super) fn is_new(&self) -> bool {
        [&self.whole, &self.masked].iter().any(|frames| frames.receiver_count() > 0 && frames.borrow().is_empty())
    }
}

/// All that are watched.
#[derive(Default)]
pub struct Parts(Vec<Part>);

impl Parts {
    /// Begins to watch one.
    pub fn begin(&mut self, scope: &Arc<GraphScope>, masked: bool) -> watch::Receiver<Bytes> {
        let at = self.0.iter().position(|part| part.scope == *scope).unwrap_or_else(|| {
            let (whole, masked) = (watch::Sender::new(Bytes::new()), watch::Sender::new(Bytes::new()));
            let scope = Arc::clone(scope);
            self.0.push(Part { scope, clients: 0, alerts: None, told: None, whole, masked });
            self.0.len() - 1
        });
        let part = &mut self.0[at];
        part.clients += 1;
        let frames = if masked { &part.masked } else { &part.whole };
        if frames.receiver_count() == 0 {
            // The last one is of when somebody watched before.
            frames.send_replace(Bytes::new());
        }
        frames.subscribe()
    }

    /// Somebody watches no more.
    pub fn end(&mut self, scope: &GraphScope) {
        self.0.iter_mut().filter(|part| *part.scope == *scope).for_each(|part| part.clients -= 1);
        self.0.retain(|part| part.clients > 0);
    }

    /// What each shows.
    pub fn scopes(&self) -> Vec<Arc<GraphScope>> {
        self.0.iter().map(|part| Arc::clone(&part.scope)).collect()
    }

    /// What is open of one, as it was told last; none if nobody watches it.
    pub fn alerts(&self, scope: &GraphScope) -> Option<LiveAlerts> {
        self.0.iter().find(|part| *part.scope == *scope)?.alerts.clone()
    }

    /// Leaves what is open of one.
    pub fn set_alerts(&mut self, scope: &GraphScope, alerts: LiveAlerts) {
        if let Some(part) = self.0.iter_mut().find(|part| *part.scope == *scope) {
            part.alerts = Some(alerts);
        }
    }

    /// Each of them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Part> {
        self.0.iter_mut()
    }
}
