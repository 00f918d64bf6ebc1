//! Segments on disk: RAM first, written in aligned blocks, committed by rename; volumes, retention, repair.
#![deny(unsafe_code)]
