//! Reading that never stands in the way of writing.
#![allow(unsafe_code)] // a system call without a safe wrapper, with its reason

/// `ioprio_set(2)`: the process or thread of an identifier, and the class that is served when nobody else asks.
const WHO_PROCESS: libc::c_long = 1;
const CLASS_IDLE: libc::c_long = 3 << 13;

/// Makes the disk serve the calling thread only when nobody else asks, where the I/O scheduler knows the difference.
/// False if the system refuses.
pub fn idle() -> bool {
    // SAFETY: three integers are passed and nothing is written; 0 is the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0 as libc::c_long, CLASS_IDLE) };
    result == 0
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_thread_may_always_step_back() {
        std::thread::spawn(|| assert!(super::idle())).join().unwrap();
    }
}
