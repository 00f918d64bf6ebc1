//! What clients of one address hold together: values that are on their way, and not whole.
//!
//! Such values count against the limit of the store as they come, and items go for them. Without a limit of their own
//! one client could begin values on many connections, never end them, and so have the whole memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Octets of a value that are counted as soon as it is announced: so much may be set aside for it.
const AHEAD_OCTETS: u64 = 64 << 10;

/// The clients of one address.
#[derive(Debug, Default)]
pub struct Client {
    /// Octets of values on their way. Touched when one is not whole in what came at once.
    incoming: AtomicU64,
}

impl Client {
    /// Octets of values that are on their way.
    pub fn incoming_octets(&self) -> u64 {
        self.incoming.load(Relaxed)
    }
}

/// What a value on its way counts for; given back when dropped.
#[derive(Debug, Default)]
pub(super) struct Share {
    client: Option<Arc<Client>>,
    octets: u64,
}

impl Share {
    /// The share of a value of that client; nothing is counted where it has no address.
    pub fn of(client: Option<&Arc<Client>>) -> Self {
        Share { client: client.cloned(), octets: 0 }
    }

    /// Counts a value of which `came` octets are here and `missing` are to come; false if it is not the only one of the
    /// client, and all of them would have more than `most` octets then.
    pub fn grow(&mut self, came: u64, missing: u64, most: u64) -> bool {
        let Some(client) = &self.client else { return true };
        let more = came.max((came + missing).min(AHEAD_OCTETS)).saturating_sub(self.octets);
        let sum = |octets: u64| octets.checked_add(more).filter(|sum| *sum <= most || octets == self.octets);
        let fits = more == 0 || client.incoming.fetch_update(Relaxed, Relaxed, sum).is_ok();
        if fits {
            self.octets += more;
        }
        fits
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Some(client) = &self.client {
            client.incoming.fetch_sub(self.octets, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_client_have_a_limit_together() {
        let client = Arc::new(Client::default());
        let (mut one, mut other) = (Share::of(Some(&client)), Share::of(Some(&client)));
        assert!(one.grow(0, 1_000_000, 200_000) && client.incoming_octets() == AHEAD_OCTETS);
        assert!(one.grow(150_000, 850_000, 200_000) && client.incoming_octets() == 150_000);
        assert!(!other.grow(0, 60_000, 200_000) && other.grow(0, 50_000, 200_000));
        assert!(!one.grow(150_001, 849_999, 200_000));
        drop(one);
        assert_eq!(client.incoming_octets(), 50_000);
        assert!(other.grow(900_000, 0, 200_000), "alone it may be as large as any item");
        assert!(!Share::of(Some(&client)).grow(0, 1, 200_000));
        drop(other);
        assert_eq!(client.incoming_octets(), 0);
        assert!(Share::of(None).grow(u64::MAX / 2, 5, 0));
    }
}
