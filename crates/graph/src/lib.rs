//! Graphs: what is polled, how it is kept, and how it is drawn.
//!
//! [`template`] says what a data source reads and how a graph looks. [`inventory`] knows the devices, their data
//! sources, graphs and trees. [`cacti`] brings both from an installation of Cacti. [`poller`] says what is asked of
//! which device and when. [`answer`] tells it to pages, [`picture`] is how graphs are seen. All of that is pure;
//! [`job`] gives it sockets and a clock.
#![forbid(unsafe_code)]

pub mod answer;
pub mod cacti;
pub mod exercise;
pub mod inventory;
pub mod job;
pub mod picture;
pub mod poller;
pub mod template;
