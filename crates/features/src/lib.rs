//! Holds no code. `cargo test -p trunkline-graph` gives foreign crates only the features that `graph` and the crates
//! below it ask for. With other features than the workspace's, each of them is compiled once more, and so is all that
//! depends on them. So the tests of each crate depend on this one, whose manifest asks for what the workspace asks for
//! together. `cargo xtask features` names what is missing.
#![forbid(unsafe_code)]
