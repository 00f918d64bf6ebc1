#![no_main]
libfuzzer_sys::fuzz_target!(|octets: &[u8]| trunkline_charge::exercise::records_state(octets));
