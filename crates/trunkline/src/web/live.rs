//! The capture of this process, as the web looks at it.

use crate::run::view::View;
use std::sync::Arc;
use trunkline_kit::metrics::exposition;
use trunkline_web::sources::{CallsUp, Live, LiveSnapshot};

/// A capture of this process.
pub struct Here {
    view: Arc<View>,
    source: &'static str,
}

impl Here {
    /// Of a run; `source` is what snapshots call it: `live`, or `demo` for a simulated world.
    pub fn new(view: Arc<View>, source: &'static str) -> Self {
        Here { view, source }
    }
}

impl Here {
    /// What there is to see of the run.
    pub fn view(&self) -> &View {
        &self.view
    }
}

impl Live for Here {
    fn snapshot(&self) -> Option<LiveSnapshot> {
        Some(self.view.live_snapshot(self.source))
    }

    fn calls_up(&self, limit: usize) -> CallsUp {
        self.view.calls_up(limit)
    }

    fn metrics(&self) -> String {
        exposition(&self.view.samples())
    }

    fn health(&self) -> Vec<String> {
        self.view.unhealthy()
    }
}
