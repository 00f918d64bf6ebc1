#![no_main]
use trunkline_record::exercise::segment;
libfuzzer_sys::fuzz_target!(|octets: &[u8]| segment(octets));
