//! What lanes and probes tell the owner of the inventory, without ever waiting for it: it may wait for them.

use super::owner::ToOwner;
use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, TrySendError};

/// News that wait for the owner; more are left out: a device is looked at, or a name looked up, later.
// Limit: reports of one polling thread that wait for the inventory
// Beyond: further reports are left out, and the device is looked at later
// Seen in: not counted
const NEWS_MAX: usize = 100_000;

/// See the module.
#[derive(Debug)]
pub(super) struct News {
    to_owner: SyncSender<ToOwner>,
    waiting: VecDeque<ToOwner>,
}

impl News {
    pub fn new(to_owner: SyncSender<ToOwner>) -> News {
        News { to_owner, waiting: VecDeque::new() }
    }

    pub fn put(&mut self, news: ToOwner) {
        if self.waiting.len() < NEWS_MAX {
            self.waiting.push_back(news);
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
        let mut news = News::new(to_owner);
        (0..NEWS_MAX as u32 + 7).for_each(|device| news.put(ToOwner::Said(device)));
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
