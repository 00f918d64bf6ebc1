//! Signing in by text (`-Y`): before anything else comes a `set` of any key with `user password` as its value.

use super::connection::{Connection, Protocol};
use super::counters::Count;
use super::{Call, Go, Service, say};
use crate::protocol::number;
use crate::protocol::text::LINE_OCTETS_MAX;
use crate::protocol::words::Words;

/// Octets of user and password: a client that announces more is not waited for.
pub const TOKEN_OCTETS_MAX: u32 = 2048;

impl Service {
    /// What comes on a connection that has not signed in.
    pub(super) fn sign_in(&mut self, connection: &mut Connection, input: &[u8], call: &mut Call<'_>) -> Go {
        let Some(end) = memchr::memchr(b'\n', input) else {
            return if input.len() > LINE_OCTETS_MAX { Go::Close(input.len()) } else { Go::Wait(0) };
        };
        let words = Words::of(&input[..end]);
        let octets = (words.at(0) == b"set" && words.count() >= 5).then(|| number::unsigned_32(words.at(4))).flatten();
        let Some(octets) = octets else {
            say(call.out, b"CLIENT_ERROR unauthenticated");
            return Go::On(end + 1);
        };
        if octets > TOKEN_OCTETS_MAX {
            return Go::Close(input.len());
        }
        let whole = end + 1 + octets as usize + 2;
        if input.len() < whole {
            return Go::Wait(0);
        }
        let (answer, good) = self.checked(&input[end + 1..whole]);
        say(call.out, answer);
        if good {
            connection.protocol = Protocol::Text;
        }
        Go::On(whole)
    }

    fn checked(&self, token: &[u8]) -> (&'static [u8], bool) {
        let Some(token) = token.strip_suffix(b"\r\n") else {
            return (b"CLIENT_ERROR bad command line termination", false);
        };
        let words = Words::of(token);
        if words.count() < 2 {
            return (b"CLIENT_ERROR bad authentication token format", false);
        }
        self.counters.add(Count::Auth, 1);
        let accounts = self.shared.settings.accounts.as_deref().unwrap_or_default();
        // All are compared, and each as a whole, so that the time tells nothing.
        let known = accounts.iter().fold(false, |known, (user, password)| {
            known | (same(words.at(0), user.as_bytes()) & same(words.at(1), password.as_bytes()))
        });
        if known {
            return (b"STORED", true);
        }
        self.counters.add(Count::AuthError, 1);
        (b"CLIENT_ERROR authentication failure", false)
    }
}

/// Whether two texts are the same, in a time that depends on the length of the first alone.
fn same(given: &[u8], known: &[u8]) -> bool {
    let differs = given
        .iter()
        .enumerate()
        .fold(0, |differs, (at, octet)| differs | (octet ^ known.get(at).copied().unwrap_or(!octet)));
    differs == 0 && given.len() == known.len()
}
