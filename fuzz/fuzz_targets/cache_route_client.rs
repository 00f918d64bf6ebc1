#![no_main]
use trunkline_cache::exercise::route_client;
libfuzzer_sys::fuzz_target!(|octets: &[u8]| route_client(octets));
