//! Exact filters by libpcap's compiler, for what is not answered here.

use pcap::{BpfProgram, Capture, Linktype};

use crate::query::{Compile, Exact};

/// libpcap.
#[derive(Clone, Copy, Debug, Default)]
pub struct Libpcap;

impl Compile for Libpcap {
    fn compile(&self, text: &str, link: u16) -> Result<Box<dyn Exact>, String> {
        let capture = Capture::dead(Linktype(link_number(link))).map_err(|e| e.to_string())?;
        let program = capture.compile(text, true).map_err(|e| message(&e))?;
        Ok(Box::new(Program(program)))
    }
}

struct Program(BpfProgram);

impl Exact for Program {
    fn matches(&self, octets: &[u8], _wire: u32) -> bool {
        self.0.filter(octets)
    }
}

/// LINKTYPE_ to DLT_ where they differ: raw IP.
fn link_number(link: u16) -> i32 {
    if link == 101 { 12 } else { i32::from(link) }
}

fn message(error: &pcap::Error) -> String {
    match error {
        pcap::Error::PcapError(text) => text.clone(),
        other => other.to_string(),
    }
}
