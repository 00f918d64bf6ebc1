//! Debian's memcached, on a unix socket of its own.

use crate::eventually::{PATIENCE, awaited};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the rest of an answer may take: theirs may be shorter than ours.
const SILENCE: Duration = Duration::from_secs(3);
/// Octets by which answers to a batch differ in length because of numbers.
const DIGITS_OFF: usize = 500;

/// A memcached that runs, and ends with this.
pub struct Oracle {
    child: Child,
    folder: tempfile::TempDir,
}

impl Oracle {
    /// Starts one; none where there is none of the version that is compared with.
    pub fn start(options: &[&str]) -> Option<Self> {
        // Without the threads that move items about and hold them meanwhile: what is held is not written over.
        Self::start_plain(&[&["-m", "256", "-t", "1", "-o", "no_lru_maintainer"], options].concat())
    }

    /// The same with these options alone.
    pub fn start_plain(options: &[&str]) -> Option<Self> {
        let version = Command::new("memcached").arg("-V").output().ok()?;
        if !version.stdout.starts_with(b"memcached 1.6.18") {
            return None;
        }
        let user = Command::new("id").arg("-un").output().ok()?;
        let user = String::from_utf8(user.stdout).ok()?;
        let folder = tempfile::tempdir().unwrap();
        let child = Command::new("memcached")
            .args(["-u", user.trim(), "-s"])
            .arg(folder.path().join("socket"))
            .args(options)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        Some(Oracle { child, folder })
    }

    /// Where it listens.
    pub fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("socket")
    }

    /// A connection to it.
    pub fn connect(&self) -> Client {
        let stream = awaited("memcached listens", || UnixStream::connect(self.path()));
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        Client { stream }
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection to the oracle.
pub struct Client {
    stream: UnixStream,
}

impl Client {
    /// Sends `octets`; reads the answer, of which `expected` octets or more are waited for, and the end, if it is
    /// expected.
    pub fn exchange(&mut self, octets: &[u8], expected: usize, end: bool) -> Vec<u8> {
        let mut writer = self.stream.try_clone().unwrap();
        let octets = octets.to_vec();
        // Beside, so that a long answer is read while it is asked for.
        let sender = std::thread::spawn(move || {
            let _ = writer.write_all(&octets);
        });
        let mut told = Vec::new();
        let mut last = Instant::now();
        let mut buffer = vec![0; 1 << 16];
        // Numbers for cas have more digits on one side than on the other: the last word counts, too.
        let whole =
            |told: &[u8]| told.len() >= expected || (told.ends_with(b"MN\r\n") && told.len() + DIGITS_OFF >= expected);
        while (!whole(&told) || end) && last.elapsed() < if told.is_empty() { PATIENCE } else { SILENCE } {
            match self.stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    told.extend_from_slice(&buffer[..count]);
                    last = Instant::now();
                }
                Err(_) => {}
            }
        }
        sender.join().unwrap();
        told
    }
}
