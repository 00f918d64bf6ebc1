//! How the web and the command line ask a job, in its own process or in another one.
//!
//! A [`Contract`] names the types of one job. Whoever answers implements [`Node`]: the job itself for who is in its
//! process, and a [`Client`] for who is in another one, which asks a [`Server`] over a unix socket ([`frame`]).

#![forbid(unsafe_code)]

mod client;
pub mod exercise;
pub mod frame;
pub mod graph;
mod octets;
mod server;
pub mod time;

pub use client::Client;
pub use octets::Octets;
pub use server::Server;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What one job is asked, and what it answers.
pub trait Contract: 'static {
    /// What is asked.
    type Ask: Serialize + DeserializeOwned + Send + 'static;
    /// What is answered.
    type Answer: Serialize + DeserializeOwned + Send + 'static;
    /// What whoever answers is called in sentences: "graph poller".
    const NAME: &'static str;
    /// Changes with the types: two programs with the same version understand each other.
    const VERSION: u64;
}

/// Whoever answers what is asked by a contract.
pub trait Node<C: Contract>: Send + Sync {
    /// Whether one is there, or belongs to somebody else.
    fn serves(&self) -> bool;

    /// Answers a question, or carries out an order.
    ///
    /// # Errors
    /// [`Refusal`].
    fn call(&self, ask: C::Ask) -> Result<C::Answer, Refusal>;
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// There is no such thing.
    NotFound,
    /// What is asked makes no sense.
    Wrong,
    /// It cannot be done as things are.
    Conflict,
    /// Too much is done already, or nothing is answered in time.
    Busy,
    /// A disk or a file fails.
    Unavailable,
    /// None serves here.
    Absent,
    /// Whoever serves belongs to another user of this machine.
    Foreign,
    /// Whoever serves is of another version.
    OtherVersion,
    /// The exchange failed.
    Failed,
}

/// Why there is no answer, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
pub struct Refusal {
    /// What kind of reason.
    pub cause: Cause,
    /// It, for people.
    pub text: String,
}

impl Refusal {
    /// For this reason, in these words.
    pub fn new(cause: Cause, text: impl ToString) -> Refusal {
        Refusal { cause, text: text.to_string() }
    }

    /// An answer of another kind than what was asked for: a defect of whoever answers.
    pub fn mismatch() -> Refusal {
        Refusal::new(Cause::Failed, "the answer is another one than asked for")
    }
}

/// An answer as JSON with times as seconds since 1970, as `--json` writes it.
///
/// # Errors
/// A defect of the type: it cannot be written.
pub fn plain(answer: &impl Serialize) -> Result<Value, Refusal> {
    let octets = frame::encode(answer).map_err(|fault| Refusal::new(Cause::Failed, fault))?;
    frame::decode(&octets).map_err(|fault| Refusal::new(Cause::Failed, fault))
}

/// FNV-1a of the source of a contract: what [`Contract::VERSION`] is made of.
const fn fingerprint(sources: &[&[u8]]) -> u64 {
    let (mut hash, mut source) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while source < sources.len() {
        let (octets, mut at) = (sources[source], 0);
        while at < octets.len() {
            hash = (hash ^ octets[at] as u64).wrapping_mul(0x0100_0000_01b3);
            at += 1;
        }
        source += 1;
    }
    hash
}
