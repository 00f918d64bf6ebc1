#![no_main]
use trunkline_cache::exercise::meta;
libfuzzer_sys::fuzz_target!(|octets: &[u8]| meta(octets));
