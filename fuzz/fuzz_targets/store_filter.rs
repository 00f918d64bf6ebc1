#![no_main]
use trunkline_store::exercise::filter;
libfuzzer_sys::fuzz_target!(|octets: &[u8]| filter(octets));
