
//! placeholder
