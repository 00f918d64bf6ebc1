//! What threads share and meet at: the standard library's atomics and locks; under `--cfg loom` loom's, which try the
//! orders in which threads can meet, and the older words that a load may still see (`tests/loom.rs`).

#[cfg(not(loom))]
pub use std::{
    hint::spin_loop,
    sync::{Mutex, MutexGuard, OnceLock, atomic},
    thread::yield_now,
};

#[cfg(loom)]
pub use loom::{
    hint::spin_loop,
    sync::{Mutex, MutexGuard, atomic},
    thread::yield_now,
};
#[cfg(loom)]
pub use once::OnceLock;

/// Lets others run for a moment, also those that the system holds to be less urgent.
#[cfg(not(loom))]
#[expect(
    clippy::disallowed_methods,
    reason = "a thread that lets go of a map tells nobody, or each read would cost more"
)]
pub fn nap() {
    std::thread::sleep(std::time::Duration::from_micros(100));
}

/// Lets others run for a moment.
#[cfg(loom)]
pub fn nap() {
    yield_now();
}

/// Stores a word that others may change with a compare-and-exchange meanwhile.
#[cfg(not(loom))]
#[inline]
pub fn store_over(word: &atomic::AtomicU64, value: u64, order: atomic::Ordering) {
    word.store(value, order);
}

/// Stores a word that others may change with a compare-and-exchange meanwhile. An exchange changes the word that it
/// read and no other comes between, so that a later store stays the last one; loom knows that of exchanges alone.
#[cfg(loom)]
pub fn store_over(word: &atomic::AtomicU64, value: u64, order: atomic::Ordering) {
    word.swap(value, order);
}

/// The cell that loom lacks: the standard one, whose order loom is told of.
#[cfg(loom)]
mod once {
    use super::Mutex;
    use super::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};

    #[derive(Debug)]
    pub struct OnceLock<T> {
        cell: std::sync::OnceLock<T>,
        filling: Mutex<()>,
        is_full: AtomicBool,
    }

    impl<T> OnceLock<T> {
        pub fn new() -> Self {
            OnceLock { cell: std::sync::OnceLock::new(), filling: Mutex::new(()), is_full: AtomicBool::new(false) }
        }

        pub fn get(&self) -> Option<&T> {
            if self.is_full.load(Acquire) { self.cell.get() } else { None }
        }

        pub fn set(&self, value: T) -> Result<(), T> {
            let _alone = self.filling.lock();
            let set = self.cell.set(value);
            self.is_full.store(true, Release);
            set
        }

        pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
            let _alone = self.filling.lock();
            let value = self.cell.get_or_init(make);
            self.is_full.store(true, Release);
            value
        }
    }
}
