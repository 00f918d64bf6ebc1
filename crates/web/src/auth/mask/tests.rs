//! What masked rows show.
