//! The sections of the web, and their types.

use crate::cache::target::Target;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use trunkline_kit::config::{Raw, Share, Value, quoted};

trunkline_kit::section! {
    /// The web: pages, API and sign-in. `trunkline run` serves it in its own process where it is enabled; `trunkline
    /// web` serves it in one that needs no right to capture.
    pub struct Web {
        /// Whether `trunkline run` serves it; `trunkline web` always does.
        enabled: bool = false => Restart;
        /// Where it listens.
        listen: Address = Address(SocketAddr::from(([127, 0, 0, 1], 8080))) => Restart;
        /// How connections are protected: `off` for this machine alone or behind a proxy, `self-signed` with a
        /// certificate that is made at the first start, `files` with the one that `certificate` and `key` name.
        tls: Tls = Tls::Off => Restart;
        /// The certificate with its chain, PEM.
        certificate: Option<PathBuf> = None => Restart;
        /// Its key, PEM.
        key: Option<PathBuf> = None => Restart;
        /// The proxies in front of it: from these alone X-Forwarded-For and X-Forwarded-Proto are believed.
        trusted_proxies: Vec<Network> = Vec::new() => Restart;
        /// The networks from which it may be used; empty for all.
        networks: Vec<Network> = Vec::new() => Restart;
        /// Roles below this one see telephone numbers masked, as `+4420*****34`; `viewer` masks for nobody.
        mask_below: Role = Role::Support => Restart;
        /// The names by which it is asked, besides localhost; empty for any, except on a loopback address.
        hosts: Vec<String> = Vec::new() => Restart;
        /// How browsers reach it, as `https://trunkline.example.org`, where that is not what requests say: behind a
        /// proxy that passes on neither Host nor X-Forwarded-Host. Links and the way back from the identity provider
        /// are made of it.
        public_url: Option<PublicUrl> = None => Restart;
        /// Whether engineers may bring captures, by drag and drop: by `trunkline web`, not beside a capture.
        uploads: bool = false => Restart;
        /// Other caches that the page of the cache shows, besides that of this configuration: servers of memcached's
        /// text protocol, `HOST`, `HOST:PORT` or `unix:PATH`. They are asked by `stats`, without TLS and sign-in.
        caches: Vec<Target> = Vec::new() => Restart;
        /// What extractions and captures that are brought leave free of the disk: they end before it, so that the
        /// capture does not lose its room.
        keep_free: Share = Share::Percent(5.0) => Restart;
        /// After how long in which nobody did anything a session ends; what an open page asks by itself is nobody.
        session_idle: Duration = Duration::from_secs(12 * 3600) => Restart,
            Duration::from_secs(60) => Duration::from_secs(30 * 86_400);
        /// After how long a session ends in any case.
        session_max: Duration = Duration::from_secs(7 * 86_400) => Restart,
            Duration::from_secs(60) => Duration::from_secs(365 * 86_400);
    }
}

trunkline_kit::section! {
    /// How long the audit log of the web is kept. The oldest entries leave first; `trunkline store prune` lets them
    /// leave at once.
    pub struct AuditLog {
        /// When its entries leave; `none` when there are too many.
        keep_age: Option<Duration> = Some(Duration::from_secs(400 * 86_400)) => Restart;
        /// How many entries of users are kept, and a tenth as many of those who did not sign in.
        keep_entries: u32 = 1_000_000 => Restart, 1_000 => 100_000_000;
        /// How old entries of users have to be before they may leave, for whatever other reason.
        keep_at_least: Option<Duration> = None => Restart;
    }
}

trunkline_kit::section! {
    /// How long captures are kept that users brought.
    pub struct BroughtCaptures {
        /// When they leave; `none` when there is no room for another one. Their rows stay, and leave by `[store]`.
        keep_age: Option<Duration> = Some(Duration::from_secs(86_400)) => Restart;
    }
}

trunkline_kit::section! {
    /// Sign-in with the accounts of an organisation, by OpenID Connect: `issuer` and `client-id` turn it on.
    pub struct Oidc {
        /// The provider, as `https://login.example.org/realms/voice`.
        issuer: Option<String> = None => Restart;
        /// What the provider calls Trunkline.
        client_id: Option<String> = None => Restart;
        /// The file that holds the secret it gave for that.
        client_secret_file: Option<PathBuf> = None => Restart;
        /// What stands on the button.
        label: String = "Sign in with your organisation".to_owned() => Restart;
        /// What is asked for besides `openid`; some providers tell groups only where `groups` is asked for.
        scopes: Vec<String> = vec!["profile".to_owned(), "email".to_owned()] => Restart;
        /// The claim of the ID token that says which groups or roles somebody has.
        role_claim: String = "groups".to_owned() => Restart;
        /// Which of them makes which role, as `noc-team=support`; whoever has none of them is not let in.
        roles: Vec<RoleOf> = Vec::new() => Restart;
    }
}

trunkline_kit::choices! {
    /// How connections are protected.
    pub enum Tls {
        /// Not at all.
        Off = "off",
        /// By a certificate that is made at the first start.
        SelfSigned = "self-signed",
        /// By one that files hold.
        Files = "files",
    }
}

trunkline_kit::choices! {
    /// What a user may do; each role may what those before it may.
    pub enum Role {
        /// Looks.
        Viewer = "viewer",
        /// Sees whole numbers, downloads packets, hears.
        Support = "support",
        /// Extracts, uploads, names hosts.
        Engineer = "engineer",
        /// Manages users.
        Administrator = "administrator",
    }
}

/// Where the web listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(pub SocketAddr);

impl Value for Address {
    fn kind() -> String {
        "ADDRESS:PORT such as \"127.0.0.1:8080\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let address = raw.as_text().and_then(|text| text.trim().parse().ok());
        address.map(Address).ok_or_else(|| expected::<Self>(raw))
    }

    fn text(&self) -> String {
        quoted(&self.0.to_string())
    }
}

/// How browsers reach the web: scheme and host, with a port if it is not the usual one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(pub String);

impl Value for PublicUrl {
    fn kind() -> String {
        "a scheme and a host such as \"https://trunkline.example.org\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let text = raw.as_text().map(str::trim).map(|text| text.strip_suffix('/').unwrap_or(text));
        text.and_then(origin).map(PublicUrl).ok_or_else(|| expected::<Self>(raw))
    }

    fn text(&self) -> String {
        quoted(&self.0)
    }
}

/// `https://HOST` or `https://HOST:PORT`, as browsers write it (RFC 6454 section 6.2); http for this machine alone, because
/// nobody signs in over it elsewhere.
fn origin(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let (scheme, host) = text.split_once("://")?;
    let (name, rest) = match host.strip_prefix('[').and_then(|v6| v6.split_once(']')) {
        Some((v6, rest)) => (v6.parse::<std::net::Ipv6Addr>().ok().map(|_| &host[..v6.len() + 2])?, rest),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let port = match rest.strip_prefix(':') {
        Some(port) => Some(port.parse::<u16>().ok().filter(|&port| port > 0)?),
        None => rest.is_empty().then_some(None)?,
    };
    let plain = |c: u8| c.is_ascii_alphanumeric() || b"-._".contains(&c);
    let written = name.ends_with(']') || (!name.is_empty() && name.bytes().all(plain));
    let here = matches!(name, "localhost" | "127.0.0.1" | "[::1]");
    let usual = if scheme == "https" { 443 } else { 80 };
    let port = port.filter(|&port| port != usual).map_or(String::new(), |port| format!(":{port}"));
    let served = scheme == "https" || (scheme == "http" && here);
    (written && served).then(|| format!("{scheme}://{name}{port}"))
}

/// An address or a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(pub ipnet::IpNet);

impl Value for Network {
    fn kind() -> String {
        "a network such as \"10.1.0.0/16\" or an address".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let text = raw.as_text().map(str::trim);
        let net = text.and_then(|t| t.parse().ok().or_else(|| t.parse::<std::net::IpAddr>().ok().map(Into::into)));
        net.map(Network).ok_or_else(|| expected::<Self>(raw))
    }

    fn text(&self) -> String {
        quoted(&self.0.to_string())
    }
}

/// A group of the provider and the role that it makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleOf {
    /// What the claim holds.
    pub group: String,
    /// What that makes.
    pub role: Role,
}

impl Value for RoleOf {
    fn kind() -> String {
        "GROUP=ROLE such as \"noc-team=support\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let (group, role) =
            raw.as_text().and_then(|text| text.rsplit_once('=')).ok_or_else(|| expected::<Self>(raw))?;
        let role = Role::of(&Raw::Word(role.trim().to_owned()))?;
        Ok(RoleOf { group: group.trim().to_owned(), role })
    }

    fn text(&self) -> String {
        quoted(&format!("{}={}", self.group, self.role.name()))
    }
}

fn expected<T: Value>(raw: &Raw) -> String {
    format!("expected {}, not {}", T::kind(), raw.describe())
}
