#![no_main]
use trunkline_store::exercise::journal;
libfuzzer_sys::fuzz_target!(|octets: &[u8]| journal(octets));
