#![no_main]
libfuzzer_sys::fuzz_target!(|octets: &[u8]| trunkline_web::exercise::keys(octets));
