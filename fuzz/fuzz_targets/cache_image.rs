#![no_main]
use trunkline_cache::exercise::image;
libfuzzer_sys::fuzz_target!(|octets: &[u8]| image(octets));
