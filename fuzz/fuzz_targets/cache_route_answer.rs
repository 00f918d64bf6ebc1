#![no_main]
use trunkline_cache::exercise::route_answer;
libfuzzer_sys::fuzz_target!(|octets: &[u8]| route_answer(octets));
