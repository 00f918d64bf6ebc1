//! The desk with a driven clock.

mod desk;
mod sign_in;
mod things;

use super::*;
use std::net::IpAddr;
use tempfile::TempDir;

/// A moment, nanoseconds since 1970.
pub(crate) const NOW: i64 = 1_795_000_000 * SECOND;
/// Nanoseconds of a second.
pub(crate) const SECOND: i64 = 1_000_000_000;
/// A password that will do.
pub(crate) const PASSWORD: &str = "correct horse";

/// A desk in a folder of its own.
pub(crate) struct Fixture {
    pub desk: Desk,
    pub folder: TempDir,
}

impl std::ops::Deref for Fixture {
    type Target = Desk;
    fn deref(&self) -> &Desk {
        &self.desk
    }
}

pub(crate) fn options() -> AuthOptions {
    AuthOptions { hash_cost: HashCost::Tests, ..AuthOptions::default() }
}

pub(crate) fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let desk = Desk::open(&folder.path().join(DESK_FILE), &options()).unwrap();
    Fixture { desk, folder }
}

impl Fixture {
    /// The same file after the process ended, however it did.
    pub fn reopened(self) -> Fixture {
        let Fixture { desk, folder } = self;
        drop(desk);
        let desk = Desk::open(&folder.path().join(DESK_FILE), &options()).unwrap();
        Fixture { desk, folder }
    }

    /// A user who need not change the password.
    pub fn has_user(&self, name: &str, role: Role) -> User {
        let new = NewUser { name, display_name: "", role, password: None };
        self.add_user(&new, NOW).unwrap();
        let link = self.make_link(&LinkKind::SetPassword(name.to_owned()), NOW).unwrap();
        let signed_in = self.set_up(link.expose(), "", PASSWORD, from("10.0.0.1"), NOW).unwrap();
        self.sign_out(signed_in.cookie.expose()).unwrap();
        super::desk::held(&self.desk.throttle).forgive(signed_in.viewer.user_id);
        self.desk.user(name, NOW).unwrap()
    }

    pub fn signed_in(&self, name: &str) -> SignedIn {
        self.sign_in(name, PASSWORD, from("10.0.0.1"), NOW).unwrap()
    }
}

pub(crate) fn from(address: &str) -> From<'static> {
    From { address: address.parse::<IpAddr>().unwrap(), agent: "test", cookie: None }
}
