#![no_main]
libfuzzer_sys::fuzz_target!(|octets: &[u8]| trunkline_graph::exercise::control(octets));
