#![no_main]
libfuzzer_sys::fuzz_target!(|octets: &[u8]| trunkline_contract::exercise::frames(octets));
