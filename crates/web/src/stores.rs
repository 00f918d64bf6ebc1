//! Questions to the store: a bounded number at once, each on a thread that may wait for the disk.

use crate::problem::{Kind, Problem};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use trunkline_store::stop::Stop;
use trunkline_store::{Access, Store, StoreError};

/// Questions to the store at once; more wait.
// Limit: questions to the store at once
// Beyond: further questions wait, then are refused
// Seen in: the error message
pub const STORES_MAX: usize = 6;
/// How long a question waits for its turn before it is refused as busy.
pub const TURN_TIME: Duration = Duration::from_secs(10);
/// How long one question may take before it tells what it has.
pub const QUESTION_TIME: Duration = Duration::from_secs(5);

/// Stores that are open for reading, shared by who asks. Each keeps its prepared statements and the last days it read.
pub struct Stores {
    folder: PathBuf,
    turns: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Store>>>,
}

impl Stores {
    /// Of a folder, which need not exist yet.
    pub fn new(folder: PathBuf) -> Self {
        Stores { folder, turns: Arc::new(Semaphore::new(STORES_MAX)), idle: Arc::default() }
    }

    /// Asks the store, for at most [`QUESTION_TIME`] and only as long as somebody waits for the answer.
    ///
    /// # Errors
    /// As [`Stores::ask`].
    pub async fn ask_for_a_while<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Store, Stop) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let gone = Gone(Arc::default());
        let switch = Arc::clone(&gone.0);
        self.ask(move |store| question(store, Stop::after(QUESTION_TIME).or_when(switch))).await
    }

    /// Asks the store on a thread that may wait.
    ///
    /// # Errors
    /// What the store says; [`Kind::Busy`] if there was no turn in time.
    pub async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        self.ask_in_turn(TURN_TIME, question).await
    }

    /// The same for who has less time to wait for a turn.
    ///
    /// # Errors
    /// As [`Stores::ask`].
    pub async fn ask_in_turn<T: Send + 'static>(
        &self,
        turn_time: Duration,
        question: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = timeout(turn_time, Arc::clone(&self.turns).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            return Err(Problem::new(Kind::Busy, "Too many searches are running.").retry_after(5));
        };
        let (folder, idle) = (self.folder.clone(), Arc::clone(&self.idle));
        let answered = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let waiting = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let store = match waiting {
                Some(store) => store,
                None => Store::open(&folder, Access::Read)?,
            };
            let answer = question(&store);
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(store);
            answer
        });
        match answered.await {
            Ok(answer) => Ok(answer?),
            Err(error) => Err(Problem::failed(error)),
        }
    }
}

/// Ends a question when nobody waits for its answer any more: the future that holds this was dropped.
struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
