#![no_main]
use trunkline_cache::exercise::text;
libfuzzer_sys::fuzz_target!(|octets: &[u8]| text(octets));
