//! Load generators: how fast a server answers, and whether it answers right.
//!
//! `cache` speaks memcached's protocols, `charge` Diameter Gy and GTP'. They measure any server that speaks these.
#![forbid(unsafe_code)]

pub mod cache;
pub mod charge;
pub mod descriptors;
mod processor;
