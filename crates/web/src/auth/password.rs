//! Passwords: rules for new ones, argon2id, and few at a time.

use super::desk::{HashCost, held};
use super::refusal::Refusal;
use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use rand::RngCore as _;
use std::sync::{Condvar, Mutex, PoisonError};

/// Fewest characters of a new password.
pub const PASSWORD_CHARACTERS_MIN: usize = 10;
/// Most octets of a password; a longer one is refused (or is wrong, at sign-in).
pub const PASSWORD_OCTETS_MAX: usize = 256;
/// Passwords that are checked at the same time: 19 MiB and a core each.
pub const HASHES_AT_ONCE_MAX: usize = 2;
/// Passwords that wait to be checked; more are refused as busy.
// Limit: passwords waiting to be checked
// Beyond: further sign-ins are refused as busy
// Seen in: `trunkline_web_busy_sign_ins_total`
pub const HASHES_WAITING_MAX: usize = 32;

/// What is guessed first. A password is also refused if it is one of these with digits and signs behind.
const WORST: [&str; 60] = [
    "0123456789",
    "1111111111",
    "1234567890",
    "12345678910",
    "123456789a",
    "1q2w3e4r5t",
    "1q2w3e4r5t6y",
    "1qaz2wsx",
    "1qaz2wsx3edc",
    "9876543210",
    "abcd",
    "abcdef",
    "abcdefgh",
    "abcdefghij",
    "admin",
    "adminadmin",
    "administrator",
    "asdfasdf",
    "asdfghjkl",
    "asterisk",
    "baseball",
    "changeit",
    "changeme",
    "changemenow",
    "default",
    "dragon",
    "football",
    "freepbx",
    "hello",
    "iloveyou",
    "kamailio",
    "letmein",
    "letmeinnow",
    "master",
    "monkey",
    "mypassword",
    "nopassword",
    "p@ssw0rd",
    "pa55word",
    "passw0rd",
    "password",
    "passwordpassword",
    "princess",
    "q1w2e3r4t5",
    "qazwsxedc",
    "qwerty",
    "qwertyqwerty",
    "qwertyuiop",
    "root",
    "rootroot",
    "secret",
    "secretsecret",
    "sunshine",
    "superman",
    "support",
    "testtest",
    "trunkline",
    "trustno",
    "welcome",
    "zxcvbnm",
];

/// Whether a new password may be used by a user of this name.
///
/// # Errors
/// [`Refusal::BadValue`] that says what to do.
pub fn check_new(password: &str, name: &str) -> Result<(), Refusal> {
    let bad = |text: String| Err(Refusal::value("password", text));
    if password.chars().count() < PASSWORD_CHARACTERS_MIN {
        return bad(format!("a password has at least {PASSWORD_CHARACTERS_MIN} characters"));
    }
    if password.len() > PASSWORD_OCTETS_MAX {
        return bad(format!("a password has at most {PASSWORD_OCTETS_MAX} octets"));
    }
    let lower = password.to_lowercase();
    let core = lower.trim_matches(|c: char| !c.is_alphabetic());
    let name = name.to_lowercase();
    if lower == name || core == name || lower.replace(&name, "").chars().count() < 5 {
        return bad("a password is not the name with something beside it".to_owned());
    }
    if WORST.iter().any(|worst| lower == *worst || core == *worst) {
        return bad("this password is too common".to_owned());
    }
    let mut different: Vec<char> = lower.chars().collect();
    different.sort_unstable();
    different.dedup();
    if different.len() < 5 {
        return bad("a password has at least 5 different characters".to_owned());
    }
    Ok(())
}

/// Makes and checks hashes, at most [`HASHES_AT_ONCE_MAX`] at a time: a flood of sign-ins takes neither all cores nor
/// all memory from the capture beside it.
#[derive(Debug)]
pub struct Hashing {
    argon: Argon2<'static>,
    /// The hash of a password that nobody has: checked where there is no user, so that it takes as long.
    nobody: String,
    gate: Mutex<Gate>,
    free: Condvar,
}

#[derive(Debug, Default)]
struct Gate {
    running: usize,
    waiting: usize,
}

impl Hashing {
    /// With the cost of each hash.
    ///
    /// # Errors
    /// [`Refusal::Failed`] where argon2 refuses its own parameters.
    pub fn new(cost: HashCost) -> Result<Self, Refusal> {
        let params = match cost {
            HashCost::Ordinary => Params::new(19_456, 2, 1, None),
            HashCost::Tests => Params::new(8, 1, 1, None),
        };
        let params = params.map_err(|e| Refusal::Failed(e.to_string()))?;
        let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let nobody = hashed(&argon, super::secret::Secret::fresh().expose())?;
        Ok(Hashing { argon, nobody, gate: Mutex::default(), free: Condvar::new() })
    }

    /// The hash of a password as PHC text (`$argon2id$v=19$...`).
    ///
    /// # Errors
    /// [`Refusal::Busy`].
    pub fn hash(&self, password: &str) -> Result<String, Refusal> {
        self.in_turn(|| hashed(&self.argon, password))?
    }

    /// Whether a password belongs to a hash. Takes as long where there is none, and says no.
    ///
    /// # Errors
    /// [`Refusal::Busy`].
    pub fn verify(&self, password: &str, hash: Option<&str>) -> Result<bool, Refusal> {
        let text = hash.unwrap_or(&self.nobody);
        let password = if password.len() > PASSWORD_OCTETS_MAX { "" } else { password };
        let parsed = PasswordHash::new(text).map_err(|e| Refusal::Failed(format!("a stored hash: {e}")))?;
        let right = self.in_turn(|| self.argon.verify_password(password.as_bytes(), &parsed).is_ok())?;
        Ok(right && hash.is_some())
    }

    fn in_turn<T>(&self, what: impl FnOnce() -> T) -> Result<T, Refusal> {
        let mut gate = held(&self.gate);
        if gate.running >= HASHES_AT_ONCE_MAX {
            if gate.waiting >= HASHES_WAITING_MAX {
                return Err(Refusal::Busy);
            }
            gate.waiting += 1;
            let full = |gate: &mut Gate| gate.running >= HASHES_AT_ONCE_MAX;
            gate = self.free.wait_while(gate, full).unwrap_or_else(PoisonError::into_inner);
            gate.waiting -= 1;
        }
        gate.running += 1;
        drop(gate);
        let _turn = Turn(self);
        Ok(what())
    }
}

/// Gives the turn back, whatever happens.
struct Turn<'a>(&'a Hashing);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        held(&self.0.gate).running -= 1;
        self.0.free.notify_one();
    }
}

fn hashed(argon: &Argon2<'_>, password: &str) -> Result<String, Refusal> {
    let mut salt = [0u8; 16];
    rand::rng().fill_bytes(&mut salt);
    let failed = |e: argon2::password_hash::Error| Refusal::Failed(e.to_string());
    let salt = SaltString::encode_b64(&salt).map_err(failed)?;
    Ok(argon.hash_password(password.as_bytes(), &salt).map_err(failed)?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn new_passwords_are_looked_at() {
        for bad in
            ["short", "passwordpassword", "Password123!", "!!changeme!!", "aaaaaaaaaaaa", "1234567890", "abababab12"]
        {
            assert!(check_new(bad, "alice").is_err(), "{bad}");
        }
        for bad in ["alice.miller", "Alice.Miller", "alice.miller1", "alice.milleralice.miller"] {
            assert!(check_new(bad, "alice.miller").is_err(), "{bad}");
        }
        assert!(check_new(&"äöüß€x".repeat(60), "a").is_err());
        for good in ["correct horse", "sieben Zwerge", "xk29-dkw0-2", "пароль для звонка"] {
            assert_eq!(check_new(good, "alice"), Ok(()), "{good}");
        }
    }

    #[test]
    fn a_hash_is_argon2id_with_the_cost_that_owasp_names() {
        let hashing = Hashing::new(HashCost::Ordinary).unwrap();
        let hash = hashing.hash("correct horse").unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_eq!(hashing.verify("correct horse", Some(&hash)), Ok(true));
        assert_eq!(hashing.verify("correct hors", Some(&hash)), Ok(false));
        assert_eq!(hashing.verify("correct horse", None), Ok(false));
        assert!(hashing.nobody.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
    }

    /// A hash that the reference implementation made (phc-winner-argon2, `argon2id`, m=65536, t=2, p=1).
    #[test]
    fn the_reference_implementation_s_hash_is_understood() {
        let hashing = Hashing::new(HashCost::Tests).unwrap();
        let hash = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
        assert_eq!(hashing.verify("password", Some(hash)), Ok(true));
        assert_eq!(hashing.verify("Password", Some(hash)), Ok(false));
    }

    #[test]
    fn few_run_at_a_time_and_few_wait() {
        let hashing = Hashing::new(HashCost::Tests).unwrap();
        let (running, most, busy) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let done = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..HASHES_AT_ONCE_MAX + HASHES_WAITING_MAX + 20 {
                scope.spawn(|| {
                    let turn = hashing.in_turn(|| {
                        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        running.fetch_sub(1, Ordering::SeqCst);
                    });
                    (if turn.is_ok() { &done } else { &busy }).fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        assert!(most.load(Ordering::SeqCst) <= HASHES_AT_ONCE_MAX);
        assert!(done.load(Ordering::SeqCst) >= HASHES_AT_ONCE_MAX);
        assert_eq!(done.load(Ordering::SeqCst) + busy.load(Ordering::SeqCst), 54);
        let gate = held(&hashing.gate);
        assert_eq!((gate.running, gate.waiting), (0, 0));
    }
}
