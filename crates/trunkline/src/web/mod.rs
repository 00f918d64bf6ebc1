//! What the program gives to the web: the packet log and captures, the running capture, a reader of captures, and how
//! it is served.

mod alerts;
mod caches;
pub mod clock;
pub mod desk;
pub mod live;
pub mod packets;
pub mod reader;
pub mod remote;
pub mod serve;
pub mod unread;
