#![no_main]
use trunkline_record::exercise::packed;
libfuzzer_sys::fuzz_target!(|octets: &[u8]| packed(octets));
