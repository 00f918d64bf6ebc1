//! Less power after opening: another user, no capabilities (capabilities(7), credentials(7)).
#![expect(unsafe_code, reason = "calls the C library")]

use core::ffi::{c_int, c_long};
use std::ffi::CString;
use std::io;

use super::error::LiveError;

/// Numbers of the capabilities that live capture can need (linux/capability.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Capability {
    /// Configures interfaces; loads XDP programs.
    NetAdmin = 12,
    /// Opens AF_PACKET and AF_XDP sockets.
    NetRaw = 13,
    /// Locks memory beyond the limit.
    IpcLock = 14,
    /// Loads programs and makes maps of BPF.
    Bpf = 39,
}

impl Capability {
    /// Its name, as in capabilities(7).
    pub fn name(self) -> &'static str {
        match self {
            Capability::NetAdmin => "CAP_NET_ADMIN",
            Capability::NetRaw => "CAP_NET_RAW",
            Capability::IpcLock => "CAP_IPC_LOCK",
            Capability::Bpf => "CAP_BPF",
        }
    }

    /// Whether this thread has it.
    pub fn is_there(self) -> bool {
        effective().is_ok_and(|set| set & 1 << self as u8 != 0)
    }
}

/// `_LINUX_CAPABILITY_VERSION_3`: sets of 64 bits, in two words each.
const VERSION: u32 = 0x2008_0522;

/// `struct __user_cap_header_struct`.
#[repr(C)]
struct Header {
    version: u32,
    process: c_int,
}

/// `struct __user_cap_data_struct`, one for each half.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Half {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// The effective capabilities of this thread, a bit each.
fn effective() -> io::Result<u64> {
    let mut header = Header { version: VERSION, process: 0 };
    let mut halves = [Half::default(); 2];
    // SAFETY: the header and two halves, as the version asks for, live through the call.
    check(unsafe { libc::syscall(libc::SYS_capget, &raw mut header, halves.as_mut_ptr()) })?;
    Ok(u64::from(halves[0].effective) | u64::from(halves[1].effective) << 32)
}

/// Gives up what opening needed: becomes `user` (with its group, and no others) if it is root and a user is named, then
/// gives up every capability, for good: a program that is executed later gains none either.
///
/// Capabilities belong to threads: to be called before other threads are started. What was opened stays open.
///
/// # Errors
/// There is no such user, or the system refuses.
pub fn give_up(user: Option<&str>) -> Result<(), LiveError> {
    let wrong = |what: &str, error| LiveError::System { what: what.to_owned(), error };
    // SAFETY: takes nothing.
    let is_root = unsafe { libc::geteuid() } == 0;
    if let Some(name) = user.filter(|_| is_root) {
        let (uid, gid) = ids_of(name)?;
        become_user(uid, gid).map_err(|e| wrong(&format!("becoming user {name}"), e))?;
    }
    // SAFETY: numbers only.
    let kept = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    check(c_long::from(kept)).map_err(|e| wrong("giving up new privileges", e))?;
    let mut header = Header { version: VERSION, process: 0 };
    let mut none = [Half::default(); 2];
    // SAFETY: the header and two halves, as the version asks for, live through the call.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw mut header, none.as_mut_ptr()) })
        .map_err(|e| wrong("giving up capabilities", e))
}

fn become_user(uid: libc::uid_t, gid: libc::gid_t) -> io::Result<()> {
    // SAFETY: no groups, so that no list is read.
    check(c_long::from(unsafe { libc::setgroups(0, core::ptr::null()) }))?;
    // SAFETY: numbers only.
    check(c_long::from(unsafe { libc::setresgid(gid, gid, gid) }))?;
    // SAFETY: numbers only. The group first: afterwards it would not be allowed.
    check(c_long::from(unsafe { libc::setresuid(uid, uid, uid) }))
}

/// The numbers of a user and its group.
///
/// # Errors
/// There is no such user.
pub fn ids_of(name: &str) -> Result<(libc::uid_t, libc::gid_t), LiveError> {
    let unknown = || LiveError::Option(format!("there is no user '{name}'"));
    let name = CString::new(name).map_err(|_| unknown())?;
    let mut buffer = vec![0; 16 << 10];
    // SAFETY: a struct of numbers and pointers, for which zeros are values.
    let mut entry: libc::passwd = unsafe { core::mem::zeroed() };
    let mut found = core::ptr::null_mut();
    // SAFETY: name, entry, buffer with its length and result live through the call.
    let result = unsafe { libc::getpwnam_r(name.as_ptr(), &mut entry, buffer.as_mut_ptr(), buffer.len(), &mut found) };
    if result != 0 || found.is_null() { Err(unknown()) } else { Ok((entry.pw_uid, entry.pw_gid)) }
}

fn check(result: c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a thread of its own: capabilities belong to threads. Becoming another user would reach all threads.
    #[test]
    fn capabilities_are_gone_for_good() {
        std::thread::spawn(|| {
            give_up(None).unwrap();
            assert!(!Capability::NetRaw.is_there() && !Capability::NetAdmin.is_there());
            give_up(None).unwrap();
            let refused = crate::live::sys::socket(libc::AF_PACKET, libc::SOCK_RAW).unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(libc::EPERM));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn users_are_known_by_name() {
        assert_eq!(ids_of("root").unwrap(), (0, 0));
        assert!(ids_of("no such user").is_err());
    }
}
