//! A seeded world: subscribers, trunks, calls of all endings, networks and faults, as packets and as truth.
//!
//! The same [`Settings`] make the same octets on every machine and in every version of the libraries below: the
//! generator of random numbers, the logarithm and the emitters of every protocol are this crate's own, so that what
//! reads the capture is tested against something that shares no code with it.
//!
//! ```
//! use trunkline_sim::{PacketBuf, Preset, Settings, World};
//! let mut world = World::new(&Settings { calls: 2, ..Settings::preset(Preset::Clean) }).unwrap();
//! let mut packet = PacketBuf::new();
//! let mut last = 0;
//! while let Some(at_ns) = world.next_packet(&mut packet) {
//!     assert!(at_ns >= last && !packet.octets().is_empty());
//!     last = at_ns;
//! }
//! assert!(world.next_truth().is_some());
//! ```
//!
//! A world is a calendar of what happens next ([`world`]): each call has a script of its signalling (`script.rs`) and
//! its streams (`stream.rs`). Only what is going on is in memory, so a file of any length needs no more than its
//! concurrent calls do. What arrived is counted as it is emitted ([`tally`]) and told when a call is over ([`truth`]).
#![forbid(unsafe_code)]

mod branches;
pub mod codec;
mod errand;
pub mod farm;
pub mod faults;
mod fax;
pub mod impair;
mod ledger;
mod media;
mod mixture;
mod net;
mod passage;
pub mod pcap;
mod planting;
mod plot;
pub mod preset;
pub mod random;
mod rtcp;
mod scene;
mod scribe;
mod script;
mod sdp;
mod session;
pub mod settings;
mod sip;
mod spec;
mod stream;
pub mod tally;
pub mod tap;
mod transport;
pub mod truth;
pub mod world;

pub use faults::Kind;
pub use pcap::{Written, write};
pub use preset::Preset;
pub use settings::Settings;
pub use tap::Tap;
pub use truth::Truth;
pub use world::{PacketBuf, World};
