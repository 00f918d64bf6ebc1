//! Holds no code. `cargo test -p trunkline-graph` gives foreign crates only the features that `graph` and what it stands
//! on ask for; with others than the workspace's, each of them is compiled once more, and all that stands on it. Each
//! crate's tests depend on this one, whose manifest asks for what the workspace asks for together.
#![forbid(unsafe_code)]
