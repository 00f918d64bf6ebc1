//! Several writes in flight through io_uring.
#![allow(unsafe_code)] // writes are submitted with the address of a block, each with its reason

use std::collections::HashMap;
use std::io;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, opcode, types};

use super::{Done, Ended, Engine, Request};

/// Between two tries to wait for a ring that cannot be waited for.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

/// A ring of its own for one volume.
pub(super) struct Uring {
    ring: IoUring,
    /// Requests that the kernel has, by number, with the octets of each that are written.
    sent: HashMap<u64, (Request, usize)>,
    ended: Ended,
}

impl Uring {
    /// A ring for `depth` writes.
    pub(super) fn new(depth: usize) -> io::Result<Uring> {
        let entries = u32::try_from(depth.max(1)).unwrap_or(u32::MAX).next_power_of_two().min(4096);
        Ok(Uring { ring: IoUring::new(entries)?, sent: HashMap::new(), ended: Ended::new() })
    }

    /// Gives the part of the request from `written` on to the kernel.
    fn send(&mut self, request: Request, written: usize) {
        let offset = request.offset + written as u64;
        let Some(octets) = request.block.get(written..request.octets) else { return };
        let length = u32::try_from(octets.len()).unwrap_or(u32::MAX);
        let write = opcode::Write::new(types::Fd(request.file.as_raw_fd()), octets.as_ptr(), length);
        let entry = write.offset(offset).build().user_data(request.id);
        let id = request.id;
        self.sent.insert(id, (request, written));
        // SAFETY: the block and the file of the request are kept in `sent`, unmoved in memory (the block is a map of
        // its own), until its completion is reaped; `drop` waits for that too.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        let submitted = match pushed {
            Ok(()) => self.ring.submit().map(|_| ()),
            Err(full) => return self.fail(id, io::Error::other(full)),
        };
        match submitted {
            Err(error) if !is_passing(&error) && self.ring.submission().is_empty() => self.fail(id, error),
            // Left in the ring, it goes with the next call.
            _ => {}
        }
    }

    /// The entry never reached the kernel.
    fn fail(&mut self, id: u64, error: io::Error) {
        if let Some((request, _)) = self.sent.remove(&id) {
            self.ended.push_back(Done::new(request, Err(error)));
        }
    }

    fn complete(&mut self, id: u64, result: i32) {
        let Some((request, written)) = self.sent.remove(&id) else { return };
        let written = match usize::try_from(result) {
            Ok(0) => return self.ended.push_back(Done::new(request, Err(io::ErrorKind::WriteZero.into()))),
            Ok(more) => written + more,
            Err(_) => {
                let error = io::Error::from_raw_os_error(result.saturating_neg());
                if is_passing(&error) {
                    return self.send(request, written);
                }
                return self.ended.push_back(Done::new(request, Err(error)));
            }
        };
        if written < request.octets {
            return self.send(request, written);
        }
        self.ended.push_back(Done::new(request, Ok(())));
    }

    fn take_completions(&mut self) {
        let completed: Vec<(u64, i32)> = self.ring.completion().map(|c| (c.user_data(), c.result())).collect();
        for (id, result) in completed {
            self.complete(id, result);
        }
    }
}

/// To be tried again at once.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, ResourceBusy, WouldBlock};
    matches!(error.kind(), Interrupted | ResourceBusy | WouldBlock)
}

impl Engine for Uring {
    fn submit(&mut self, request: Request) {
        self.send(request, 0);
    }

    fn reap(&mut self, wait: bool) -> Option<Done> {
        self.take_completions();
        while wait && self.ended.is_empty() && !self.sent.is_empty() {
            match self.ring.submit_and_wait(1) {
                Err(error) if !is_passing(&error) => {
                    std::thread::park_timeout(PAUSE);
                    break;
                }
                _ => self.take_completions(),
            }
        }
        self.ended.pop_front()
    }

    fn in_flight(&self) -> usize {
        self.sent.len() + self.ended.len()
    }

    fn name(&self) -> &'static str {
        "io_uring"
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        while !self.sent.is_empty() {
            match self.ring.submit_and_wait(1) {
                Err(error) if !is_passing(&error) => break,
                _ => self.take_completions(),
            }
        }
        // What the kernel may still read from must stay, whatever the ring says.
        std::mem::forget(std::mem::take(&mut self.sent));
    }
}
