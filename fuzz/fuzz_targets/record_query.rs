#![no_main]
use trunkline_record::exercise::query;
libfuzzer_sys::fuzz_target!(|octets: &[u8]| query(octets));
