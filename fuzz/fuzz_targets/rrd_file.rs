#![no_main]
use trunkline_rrd::exercise::file;
libfuzzer_sys::fuzz_target!(|octets: &[u8]| file(octets));
