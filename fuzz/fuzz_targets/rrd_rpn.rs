#![no_main]
use trunkline_rrd::exercise::expression;
libfuzzer_sys::fuzz_target!(|octets: &[u8]| expression(octets));
