//! Graphs as the program runs them: what the command line and the configuration set up alike.

pub mod here;
