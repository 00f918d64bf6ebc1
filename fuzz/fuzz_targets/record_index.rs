#![no_main]
use trunkline_record::exercise::index;
libfuzzer_sys::fuzz_target!(|octets: &[u8]| index(octets));
