#![no_main]
use trunkline_cache::exercise::peer;
libfuzzer_sys::fuzz_target!(|octets: &[u8]| peer(octets));
