//! All integration tests of wire, one binary: it is linked once, and what tests share is compiled once.

mod captures;
mod cdr_oracle;
mod corpora;
mod diameter_dictionary;
mod diameter_oracle;
mod gtpp_oracle;
mod media_replay;
mod reassembly;
mod replay;
mod sdp_oracle;
mod sip_captures;
mod snmp;
mod support;
mod torture;
