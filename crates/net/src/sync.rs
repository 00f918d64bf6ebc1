//! What threads share and meet at: the standard library's atomics and locks; under `--cfg loom` loom's, which try the
//! orders in which threads can meet (`models.rs`).

#[cfg(not(loom))]
pub(crate) use std::sync::{Mutex, MutexGuard, atomic};

#[cfg(loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard, atomic};
