//! What lanes and probes tell the owner of the inventory, without ever waiting for it: it may wait for them.

use super::owner::ToOwner;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};

/// News that wait for the owner; more are left out: a device is looked at, or a name looked up, later.
// Limit: reports of one polling thread that wait for the inventory
// Beyond: further reports are left out, and the device is looked at later
// Seen in: `trunkline_graph_news_left_out_total`
const NEWS_MAX: usize = 100_000;

/// See the module.
#[derive(Debug)]
pub(super) struct News {
    to_owner: SyncSender<ToOwner>,
    waiting: VecDeque<ToOwner>,
    left_out: Arc<AtomicU64>,
}

impl News {
    /// What is left out is added to a counter.
    pub fn new(to_owner: SyncSender<ToOwner>, left_out: Arc<AtomicU64>) -> News {
        News { to_owner, waiting: VecDeque::new(), left_out }
    }

    pub fn put(&mut self, news: ToOwner) {
        match self.waiting.len() < NEWS_MAX {
            true => self.waiting.push_back(news),
            false => _ = self.left_out.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Tells what the owner has room for.
    pub fn tell(&mut self) {
        while let Some(news) = self.waiting.pop_front() {
            if let Err(TrySendError::Full(news)) = self.to_owner.try_send(news) {
                self.waiting.push_front(news);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    #[test]
    fn news_wait_in_their_order_and_have_a_bound() {
        let (to_owner, hears) = sync_channel(2);
        let left_out = Arc::new(AtomicU64::new(0));
        let mut news = News::new(to_owner, Arc::clone(&left_out));
        (0..NEWS_MAX as u32 + 7).for_each(|device| news.put(ToOwner::Said(device)));
        assert_eq!(left_out.load(Ordering::Relaxed), 7);
        let mut told = Vec::new();
        while told.len() < 5 {
            news.tell();
            told.extend(hears.try_iter().map(|one| match one {
                ToOwner::Said(device) => device,
                other => panic!("{other:?}"),
            }));
        }
        assert_eq!((&told[..5], news.waiting.len()), (&[0, 1, 2, 3, 4][..], NEWS_MAX - told.len()));
        drop(hears);
        news.tell();
        assert!(news.waiting.is_empty(), "nobody hears them any more");
    }
}
