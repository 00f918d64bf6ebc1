//! Graphs: what is polled, how it is kept, and how it is drawn.
//!
//! [`template`] says what a data source reads and how a graph looks. [`inventory`] knows the devices, their data
//! sources, graphs and trees. [`cacti`] brings both from an installation of Cacti. [`poller`] says what is asked of
//! which device and when, [`probe`] does so for whatever is not read by SNMP. [`targets`] makes that of the inventory,
//! [`reads`] makes numbers of answers, [`discovery`] finds out what a device has, and [`network`] how devices hang
//! together. [`files`] and [`journal`] say how samples are kept; [`realtime`] has those that are only looked at.
//! [`answer`] tells it to pages, [`scope`] who may see what of it, [`picture`] is how graphs are seen. All of that is
//! pure; [`job`] gives it sockets, processes, disks and a clock.
#![forbid(unsafe_code)]

pub mod answer;
pub mod cacti;
pub mod discovery;
pub mod exercise;
pub mod files;
pub mod inventory;
pub mod job;
pub mod journal;
pub mod network;
pub mod picture;
pub mod poller;
pub mod probe;
pub mod rates;
pub mod reads;
pub mod realtime;
pub mod scope;
pub mod targets;
pub mod template;
