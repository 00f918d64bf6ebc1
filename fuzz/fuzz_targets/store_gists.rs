#![no_main]
use trunkline_store::exercise::gists;
libfuzzer_sys::fuzz_target!(|octets: &[u8]| gists(octets));
