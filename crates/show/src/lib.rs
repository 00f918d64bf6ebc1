//! What people read at a terminal: rows as tables, ladders and reports, progress, a pager, failures with their exit
//! codes.
//!
//! Modules of rows and figures write to what they are given; `output`, `pager`, `bar`, `terminal` and `stop` belong to
//! the process.
#![forbid(unsafe_code)]

pub mod bar;
pub mod call_list;
pub mod call_page;
pub mod days;
pub mod failure;
pub mod figure;
pub mod ladder;
pub mod lanes;
pub mod output;
pub mod pager;
pub mod report;
#[doc(hidden)]
pub mod samples;
pub mod selection;
pub mod stop;
pub mod streams;
pub mod table;
pub mod terminal;
pub mod text;
