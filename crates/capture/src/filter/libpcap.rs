//! libpcap's compiler (pcap_compile(3PCAP)).
#![expect(unsafe_code, reason = "calls libpcap")]

use core::ffi::{CStr, c_int, c_uint};
use std::ffi::CString;
use std::sync::{Mutex, PoisonError};

use super::Fault;
use super::library::Library;
use crate::bpf::{INSTRUCTIONS_MAX, Instruction};

/// `PCAP_NETMASK_UNKNOWN`: only `ip broadcast` would need it.
const NETMASK_UNKNOWN: c_uint = 0xffff_ffff;
/// Octets that a packet keeps when it matches.
const KEEP_OCTETS: c_int = 262_144;

/// `struct bpf_insn` of pcap/bpf.h.
#[repr(C)]
struct Insn {
    code: u16,
    jt: u8,
    jf: u8,
    k: u32,
}

/// `struct bpf_program` of pcap/bpf.h.
#[repr(C)]
pub(super) struct Program {
    length: c_uint,
    instructions: *mut Insn,
}

/// `pcap_t`.
#[repr(C)]
pub(super) struct Handle {
    _opaque: [u8; 0],
}

/// Compilers before libpcap 1.8 keep their state in globals.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Compiles an expression.
///
/// # Errors
/// What libpcap says where it cannot, or that there is no libpcap.
pub(super) fn compile(text: &str, link: u16) -> Result<Vec<Instruction>, Fault> {
    let pcap = Library::get()?;
    let wrong = |what: &str| Fault::Expression(what.to_owned());
    let text = CString::new(text).map_err(|_| wrong("a zero octet"))?;
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut program = Program { length: 0, instructions: core::ptr::null_mut() };
    // SAFETY: takes numbers only; a null pointer is looked for below.
    let handle = unsafe { (pcap.open_dead)(link_of(link), KEEP_OCTETS) };
    if handle.is_null() {
        return Err(wrong("libpcap has no memory"));
    }
    // SAFETY: the handle is open, the program is written to, the text ends with a zero.
    let compiled = unsafe { (pcap.compile)(handle, &mut program, text.as_ptr(), 1, NETMASK_UNKNOWN) };
    let result = if compiled == 0 {
        // SAFETY: the program was compiled, and nobody else has it.
        Ok(unsafe { taken(pcap, &mut program) })
    } else {
        // SAFETY: the handle is open, and its error is a string that ends with a zero until the next call.
        let fault = unsafe { CStr::from_ptr((pcap.error)(handle)) };
        Err(wrong(fault.to_string_lossy().trim_end()))
    };
    // SAFETY: opened above, and closed once.
    unsafe { (pcap.close)(handle) };
    match result {
        Ok(program) if program.len() > INSTRUCTIONS_MAX => {
            Err(wrong(&format!("more than {INSTRUCTIONS_MAX} instructions")))
        }
        result => result,
    }
}

/// Copies a program and frees it.
///
/// # Safety
/// `pcap_compile` filled it in.
unsafe fn taken(pcap: &Library, program: &mut Program) -> Vec<Instruction> {
    let made: &[Insn] = if program.instructions.is_null() {
        &[]
    } else {
        // SAFETY: so many instructions lie there, says libpcap.
        unsafe { core::slice::from_raw_parts(program.instructions, program.length as usize) }
    };
    let copy = made.iter().map(|i| Instruction { code: i.code, jt: i.jt, jf: i.jf, k: i.k }).collect();
    // SAFETY: it is not used any more.
    unsafe { (pcap.free_code)(program) };
    copy
}

/// The DLT_ number of a LINKTYPE_ number: they differ where systems had numbered differently before there were files.
fn link_of(link: u16) -> c_int {
    match link {
        100 => 11,
        101 => 12,
        105..=u16::MAX | 0..=99 | 102..=104 => c_int::from(link),
    }
}
