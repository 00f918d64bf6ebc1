#![no_main]
libfuzzer_sys::fuzz_target!(|octets: &[u8]| trunkline_store::exercise::cursor(octets));
