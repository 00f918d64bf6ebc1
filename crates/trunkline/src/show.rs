//! Rows made readable: figures, lines, tables, pages, ladders. Nothing here does I/O but write to what it is given.

pub mod call_list;
pub mod call_page;
pub mod days;
pub mod figure;
pub mod ladder;
pub mod lanes;
pub mod report;
pub mod streams;
pub mod table;
pub mod text;

#[cfg(test)]
pub mod samples;
