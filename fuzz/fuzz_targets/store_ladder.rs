#![no_main]
use trunkline_store::exercise::ladder;
libfuzzer_sys::fuzz_target!(|octets: &[u8]| ladder(octets));
