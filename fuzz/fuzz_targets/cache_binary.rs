#![no_main]
use trunkline_cache::exercise::binary;
libfuzzer_sys::fuzz_target!(|octets: &[u8]| binary(octets));
