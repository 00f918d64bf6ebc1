#![no_main]
use trunkline_cache::exercise::udp;
libfuzzer_sys::fuzz_target!(|octets: &[u8]| udp(octets));
