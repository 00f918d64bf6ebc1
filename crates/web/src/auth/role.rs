//! Roles, what each may do, and sets of permissions as tokens carry them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use utoipa::ToSchema;

/// What a user is to the house; each role includes the ones before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Sees calls, streams, registrations, the system.
    Viewer,
    /// Sees whole numbers and raw messages, downloads the packets of calls, exports.
    Support,
    /// Extracts from the packet log, brings captures, names hosts, shares filters.
    Engineer,
    /// Makes users, sees everybody's tokens and the audit log.
    Administrator,
}

impl Role {
    /// All, from the least to the most.
    pub const ALL: [Role; 4] = [Role::Viewer, Role::Support, Role::Engineer, Role::Administrator];

    /// Its name, as JSON and the configuration have it.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Support => "support",
            Role::Engineer => "engineer",
            Role::Administrator => "administrator",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No role has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a role: expected viewer, support, engineer or administrator")]
pub struct NotARole;

impl FromStr for Role {
    type Err = NotARole;
    fn from_str(text: &str) -> Result<Self, NotARole> {
        Role::ALL.into_iter().find(|r| r.name() == text).ok_or(NotARole)
    }
}

/// One thing that may be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Permission {
    /// See calls, streams, registrations, events, the packet log's list, the system.
    CallsRead,
    /// See whole numbers.
    NumbersRead,
    /// See raw SIP messages.
    MessagesRead,
    /// Download the packets of a call.
    PacketsDownload,
    /// Export lists of calls.
    CallsExport,
    /// Extract packets from the log by time and filter.
    PacketsExtract,
    /// Bring captures of one's own.
    CapturesUpload,
    /// Name addresses and networks.
    AliasesWrite,
    /// Save filters for everybody.
    FiltersShare,
    /// Make, change and remove users.
    UsersAdmin,
    /// See and end everybody's tokens.
    TokensAdmin,
    /// Read the audit log.
    AuditRead,
    /// See charging: sessions, accounts, plans, clients.
    ChargeRead,
    /// Top up, sell bundles, make accounts and subscribers, end sessions.
    ChargeOperate,
    /// Adjust balances, change plans and credit of accounts, try plans out and put them live.
    ChargeManage,
    /// See devices, graphs and what was read.
    GraphsRead,
    /// Add and remove devices and credentials, have them polled or not.
    GraphsManage,
    /// See alerts, rules, silences and channels.
    AlertsRead,
    /// Acknowledge alerts, silence them for a time.
    AlertsOperate,
    /// Try out channels, have rules read again.
    AlertsManage,
}

impl Permission {
    /// All, with the names that `may` and the scopes of tokens have, and the least role that has them.
    pub const ALL: [(Permission, &'static str, Role); 20] = [
        (Permission::CallsRead, "calls.read", Role::Viewer),
        (Permission::NumbersRead, "numbers.read", Role::Viewer),
        (Permission::MessagesRead, "messages.read", Role::Support),
        (Permission::PacketsDownload, "packets.download", Role::Support),
        (Permission::CallsExport, "calls.export", Role::Support),
        (Permission::PacketsExtract, "packets.extract", Role::Engineer),
        (Permission::CapturesUpload, "captures.upload", Role::Engineer),
        (Permission::AliasesWrite, "aliases.write", Role::Engineer),
        (Permission::FiltersShare, "filters.share", Role::Engineer),
        (Permission::UsersAdmin, "users.admin", Role::Administrator),
        (Permission::TokensAdmin, "tokens.admin", Role::Administrator),
        (Permission::AuditRead, "audit.read", Role::Administrator),
        (Permission::ChargeRead, "charge.read", Role::Viewer),
        (Permission::ChargeOperate, "charge.operate", Role::Support),
        (Permission::ChargeManage, "charge.manage", Role::Engineer),
        (Permission::GraphsRead, "graphs.read", Role::Viewer),
        (Permission::GraphsManage, "graphs.manage", Role::Administrator),
        (Permission::AlertsRead, "alerts.read", Role::Viewer),
        (Permission::AlertsOperate, "alerts.operate", Role::Support),
        (Permission::AlertsManage, "alerts.manage", Role::Administrator),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Permission::ALL.iter().find(|(p, ..)| *p == self).map_or("", |(_, name, _)| name)
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of permissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions(u32);

/// What shows numbers as they are on the wire: nobody has it whose numbers are masked.
const RAW: [Permission; 3] = [Permission::MessagesRead, Permission::PacketsDownload, Permission::PacketsExtract];
/// What no token may do: one that leaked would make others that outlive its end.
const NEVER_IN_TOKENS: [Permission; 2] = [Permission::UsersAdmin, Permission::TokensAdmin];

impl Permissions {
    /// Nothing.
    pub const NONE: Permissions = Permissions(0);

    /// What a role may where numbers are masked for the roles below `mask_below`. A masked role may not do what shows
    /// raw packets or messages, whatever it is.
    pub fn of(role: Role, mask_below: Role) -> Self {
        let allowed = Permission::ALL.into_iter().filter(|(_, _, least)| role >= *least).map(|(p, ..)| p);
        let all: Permissions = allowed.collect();
        if role < mask_below { all.without(&[Permission::NumbersRead]).coherent() } else { all }
    }

    /// Whether it holds one.
    pub fn contains(self, permission: Permission) -> bool {
        self.0 & bit(permission) != 0
    }

    /// Whether it holds all of another set.
    pub fn includes(self, other: Permissions) -> bool {
        self.0 & other.0 == other.0
    }

    /// What both hold.
    pub fn and(self, other: Permissions) -> Self {
        Permissions(self.0 & other.0)
    }

    /// Without what shows raw numbers, if it does not hold numbers.read.
    pub fn coherent(self) -> Self {
        if self.contains(Permission::NumbersRead) { self } else { self.without(&RAW) }
    }

    /// Of these, what a token may be given.
    pub fn for_tokens(self) -> Self {
        self.without(&NEVER_IN_TOKENS)
    }

    /// The names, in the order of [`Permission::ALL`].
    pub fn names(self) -> Vec<&'static str> {
        Permission::ALL.iter().filter(|(p, ..)| self.contains(*p)).map(|(_, name, _)| *name).collect()
    }

    /// From names.
    ///
    /// # Errors
    /// The first name that is none.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, &'a str> {
        let one = |name: &'a str| Permission::ALL.iter().find(|(_, n, _)| *n == name).map(|(p, ..)| *p).ok_or(name);
        names.into_iter().map(one).collect()
    }

    fn without(self, some: &[Permission]) -> Self {
        Permissions(some.iter().fold(self.0, |set, p| set & !bit(*p)))
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(all: I) -> Self {
        Permissions(all.into_iter().fold(0, |set, p| set | bit(p)))
    }
}

fn bit(permission: Permission) -> u32 {
    1 << permission as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_includes_the_ones_before() {
        for mask_below in Role::ALL {
            for pair in Role::ALL.windows(2) {
                let (less, more) = (Permissions::of(pair[0], mask_below), Permissions::of(pair[1], mask_below));
                assert!(more.includes(less), "{} {} {mask_below}", pair[0], pair[1]);
            }
        }
    }

    #[test]
    fn a_masked_role_gets_nothing_raw() {
        let of = |role, mask_below| Permissions::of(role, mask_below).names();
        assert_eq!(of(Role::Viewer, Role::Support), ["calls.read", "charge.read", "graphs.read", "alerts.read"]);
        let whole = ["calls.read", "numbers.read", "charge.read", "graphs.read", "alerts.read"];
        assert_eq!(of(Role::Viewer, Role::Viewer), whole);
        let reads = ["calls.read", "calls.export", "charge.read", "charge.operate", "graphs.read", "alerts.read"];
        let masked = [&reads[..], &["alerts.operate"]].concat();
        assert_eq!(of(Role::Support, Role::Engineer), masked);
        assert!(!of(Role::Engineer, Role::Administrator).contains(&"packets.extract"));
        assert_eq!(of(Role::Administrator, Role::Administrator).len(), 20);
    }

    #[test]
    fn sets_come_back_from_their_names() {
        for role in Role::ALL {
            let set = Permissions::of(role, Role::Support);
            assert_eq!(Permissions::parse(set.names()), Ok(set));
            assert_eq!(role.name().parse(), Ok(role));
        }
        assert_eq!(Permissions::parse(["calls.read", "root"]), Err("root"));
        assert!("Root".parse::<Role>().is_err());
    }

    #[test]
    fn a_scope_without_numbers_shows_nothing_raw() {
        let scopes = Permissions::parse(["calls.read", "packets.download", "messages.read"]).unwrap();
        assert_eq!(scopes.coherent().names(), ["calls.read"]);
    }
}
