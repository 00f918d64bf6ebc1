//! The desk with a driven clock.
