//! Scripts with a purpose.
