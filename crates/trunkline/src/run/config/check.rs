//! What values get wrong beside each other, and texts that have a form of their own.

use super::{Called, Charge, ClientCertificates, Door, Settings, Tls, keeping};
use std::path::Path;
use trunkline_kit::config::Objection;

/// The longest name of an interface: `IFNAMSIZ` of netdevice(7) without its end.
const INTERFACE_NAME_MAX: usize = 15;
/// Interfaces that one program listens on.
// Limit: interfaces of one capture
// Beyond: the configuration is refused
// Seen in: the error message
pub const INTERFACES_MAX: usize = 64;
/// Caches that the web looks at besides that of the run.
// Limit: caches in `web.caches`
// Beyond: the configuration is refused
// Seen in: the error message
pub const CACHES_MAX: usize = 16;

/// All that is wrong; what needs the machine to be asked (does the interface exist?) is not looked at.
pub fn check(settings: &Settings) -> Vec<Objection> {
    let mut wrong = Objections::default();
    interfaces(&settings.capture.interfaces, &mut wrong);
    if let Some(user) = &settings.capture.user {
        wrong.unless(is_user(user), "capture", "user", || format!("'{user}' is no name of a user"));
    }
    wrong.unless(!settings.capture.filter.contains('\0'), "capture", "filter", || "holds a NUL".to_owned());
    record(settings, &mut wrong);
    keeping::check(settings, &mut wrong);
    wrong.unless(settings.calls.enabled || settings.record.enabled, "calls", "enabled", || {
        "neither calls nor record is enabled: there would be nothing to do".to_owned()
    });
    cache(settings, &mut wrong);
    charge(settings, &mut wrong);
    directory(settings, &mut wrong);
    standby(settings, &mut wrong);
    cdr(settings, &mut wrong);
    web(settings, &mut wrong);
    wrong.0
}

fn cache(settings: &Settings, wrong: &mut Objections) {
    let cache = &settings.cache;
    let again = |(i, door): (usize, &Door)| cache.listen.iter().take(i).any(|before| before == door);
    for (_, door) in cache.listen.iter().enumerate().filter(|numbered| again(*numbered)) {
        wrong.unless(false, "cache", "listen", || format!("'{door}' is named twice"));
    }
    let shows = cache.listen.iter().any(|door| matches!(door, Door::Tls(_)));
    let named = (cache.certificate.is_some(), cache.key.is_some());
    wrong.unless(!shows || named == (true, true), "cache", "listen", || {
        "a tls: address needs both certificate and key".to_owned()
    });
    wrong.unless(shows || named == (false, false), "cache", "certificate", || {
        "certificate and key are not used: no address of listen begins with tls:".to_owned()
    });
    let asks = cache.client_certificates != ClientCertificates::None;
    wrong.unless(asks == cache.client_issuers.is_some(), "cache", "client-certificates", || {
        "goes with client-issuers: whose certificates are good".to_owned()
    });
    wrong.unless(shows || !asks, "cache", "client-certificates", || "is asked for by TLS alone".to_owned());
    wrong.unless(cache.item_size <= cache.memory, "cache", "item-size", || {
        "is larger than all of the memory".to_owned()
    });
    let datagrams = cache.listen.iter().any(|door| matches!(door, Door::Udp(_)));
    wrong.unless(!datagrams || cache.accounts.is_none(), "cache", "accounts", || {
        "nobody can sign in by UDP: its datagrams would not be answered".to_owned()
    });
    wrong.unless(settings.web.caches.len() <= CACHES_MAX, "web", "caches", || format!("more than {CACHES_MAX} caches"));
}

fn charge(settings: &Settings, wrong: &mut Objections) {
    let charge = &settings.charge;
    let again = |(i, door): (usize, &Door)| charge.listen.iter().take(i).any(|before| before == door);
    for (_, door) in charge.listen.iter().enumerate().filter(|numbered| again(*numbered)) {
        wrong.unless(false, "charge", "listen", || format!("'{door}' is named twice"));
    }
    for door in charge.listen.iter().filter(|door| matches!(door, Door::Udp(_) | Door::Unix(_))) {
        wrong.unless(false, "charge", "listen", || format!("Diameter goes over TCP or TLS, not over {door}"));
    }
    let gtpp = &settings.charge_gtpp;
    for door in gtpp.listen.iter().filter(|door| matches!(door, Door::Tls(_) | Door::Unix(_))) {
        wrong.unless(false, "charge.gtpp", "listen", || format!("GTP' goes over UDP or TCP, not over {door}"));
    }
    for (i, door) in gtpp.listen.iter().enumerate() {
        let again = gtpp.listen.iter().take(i).chain(&charge.listen).any(|before| before == door);
        wrong.unless(!again, "charge.gtpp", "listen", || format!("'{door}' is named twice"));
    }
    let listens = !charge.listen.is_empty() || !gtpp.listen.is_empty() || !charge.connect.is_empty();
    let named = |name: &str| !listens || !name.trim().is_empty();
    wrong.unless(named(&charge.host), "charge", "host", || "charging needs a name (Origin-Host)".to_owned());
    wrong.unless(named(&charge.realm), "charge", "realm", || "charging needs a realm (Origin-Realm)".to_owned());
    let standby = &settings.charge_standby;
    let stands = |name: &str| standby.servers.is_empty() || trunkline_replica::Options::is_name(name);
    wrong.unless(stands(&standby.node), "charge.standby", "node", || {
        "nodes need names of their own: letters, digits, - and _".to_owned()
    });
    wrong.unless(stands(&standby.stream), "charge.standby", "stream", || {
        "a name of letters, digits, - and _".to_owned()
    });
    for why in calls(charge) {
        wrong.unless(false, "charge", "connect", || why);
    }
    let calls = charge.connect.iter().flat_map(|peer| &peer.places).any(|(_, tls)| *tls);
    let shows = charge.listen.iter().any(|door| matches!(door, Door::Tls(_)));
    let files = (charge.certificate.is_some(), charge.key.is_some());
    wrong.unless(!shows || files == (true, true), "charge", "listen", || {
        "a tls: address needs both certificate and key".to_owned()
    });
    wrong.unless(
        shows || ((calls || files == (false, false)) && charge.client_issuers.is_none()),
        "charge",
        "certificate",
        || "is not used: no address of listen begins with tls:".to_owned(),
    );
}

/// What is wrong with the peers that are connected to, a sentence each.
pub fn calls(charge: &Charge) -> Vec<String> {
    let most = trunkline_charge::peer::NEIGHBOURS_MAX;
    let many = (charge.connect.len() > most).then(|| format!("more than {most} peers"));
    let each = charge.connect.iter().enumerate().filter_map(|(at, peer)| {
        let named = |other: &Called| other.host.eq_ignore_ascii_case(&peer.host);
        let tls = peer.places.iter().any(|(_, tls)| *tls);
        let why = if charge.connect.iter().take(at).any(named) {
            "is named twice"
        } else if peer.host.eq_ignore_ascii_case(&charge.host) {
            "is this node itself"
        } else if tls && charge.issuers.is_none() {
            "is connected to by TLS: issuers says whose certificates are good"
        } else {
            return None;
        };
        Some(format!("'{}' {why}", peer.host))
    });
    many.into_iter().chain(each).collect()
}

/// Nodes that stand by for each other serve clients.
fn standby(settings: &Settings, wrong: &mut Objections) {
    if settings.charge_standby.servers.is_empty() {
        return;
    }
    wrong.unless(!settings.charge.listen.is_empty(), "charge.standby", "servers", || {
        "charge.listen names no address: there is nothing to take over".to_owned()
    });
    wrong.unless(settings.charge_gtpp.redirect_to.is_none(), "charge.gtpp", "redirect-to", || {
        "nodes that stand by for each other are one gateway: nobody is told to go elsewhere".to_owned()
    });
}

/// For how long closed files of records stay at least.
const KEEP_LEAST: std::time::Duration = std::time::Duration::from_secs(86_400);

/// What records and names of files may be called (TS 32.297 section 6.1).
fn cdr(settings: &Settings, wrong: &mut Objections) {
    let node = &settings.cdr.node;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    wrong.unless(node.len() <= 20 && node.chars().all(is_plain), "cdr", "node", || {
        "a name of up to 20 letters, digits, '.', '-', '_' is needed".to_owned()
    });
    let long = settings.cdr.keep.is_none_or(|keep| keep >= KEEP_LEAST);
    wrong.unless(long, "cdr", "keep", || {
        "less than a day: files would leave before they are fetched; write \"none\" for no limit, or a time such as \
         \"400 days\""
            .to_owned()
    });
    for (key, why) in settings.cdr.wrong_sending(!settings.charge_standby.servers.is_empty()) {
        wrong.unless(false, "cdr", key, || why);
    }
}

/// Keys whose values may be wrong beside each other.
const DIRECTORY_KEYS: [&str; 5] = ["servers", "filters", "attributes", "bind-name", "bind-password-file"];

/// The keys are those of [`DirectorySection::options`](super::DirectorySection), which says what is wrong with their
/// values.
fn directory(settings: &Settings, wrong: &mut Objections) {
    if settings.directory.servers.is_empty() {
        return;
    }
    for mistake in settings.directory.options().err().into_iter().flatten() {
        let (named, what) = mistake.split_once(": ").unwrap_or(("servers", &mistake));
        let key = DIRECTORY_KEYS.into_iter().find(|key| *key == named).unwrap_or("servers");
        wrong.unless(false, "directory", key, || what.to_owned());
    }
}

fn web(settings: &Settings, wrong: &mut Objections) {
    let (web, oidc) = (&settings.web, &settings.web_oidc);
    let named = (web.certificate.is_some(), web.key.is_some());
    wrong.unless(web.tls != Tls::Files || named == (true, true), "web", "tls", || {
        "files needs both certificate and key".to_owned()
    });
    wrong.unless(web.tls == Tls::Files || named == (false, false), "web", "tls", || {
        "certificate and key are not used: write tls = \"files\"".to_owned()
    });
    wrong
        .unless(web.session_idle <= web.session_max, "web", "session-idle", || "is longer than session-max".to_owned());
    let on = (oidc.issuer.is_some(), oidc.client_id.is_some());
    wrong.unless(on.0 == on.1, "web.oidc", "issuer", || "needs client-id, and client-id needs it".to_owned());
    let secure = |issuer: &String| issuer.starts_with("https://") || issuer.starts_with("http://127.0.0.1");
    wrong.unless(oidc.issuer.as_ref().is_none_or(secure), "web.oidc", "issuer", || {
        "does not begin with https://".to_owned()
    });
    wrong.unless(!oidc.label.trim().is_empty(), "web.oidc", "label", || "nothing would stand on the button".to_owned());
    let is_scope =
        |scope: &String| !scope.is_empty() && scope.bytes().all(|c| c.is_ascii_graphic() && !b"\"\\".contains(&c));
    wrong.unless(oidc.scopes.iter().all(is_scope), "web.oidc", "scopes", || "a scope is a word".to_owned());
    wrong.unless(!on.0 || !oidc.roles.is_empty(), "web.oidc", "roles", || {
        "no group makes a role: nobody would be let in".to_owned()
    });
}

/// What is wrong so far.
#[derive(Default)]
pub struct Objections(Vec<Objection>);

impl Objections {
    /// Notes a setting unless it is right.
    pub fn unless(&mut self, right: bool, section: &'static str, key: &'static str, what: impl FnOnce() -> String) {
        if !right {
            self.0.push(Objection { section, key, what: what() });
        }
    }
}

fn interfaces(names: &[String], wrong: &mut Objections) {
    wrong.unless(names.len() <= INTERFACES_MAX, "capture", "interfaces", || {
        format!("more than {INTERFACES_MAX} interfaces")
    });
    for (i, name) in names.iter().enumerate() {
        wrong.unless(is_interface(name), "capture", "interfaces", || format!("'{name}' is no name of an interface"));
        let again = names.iter().take(i).any(|before| before == name);
        wrong.unless(!again, "capture", "interfaces", || format!("'{name}' is named twice"));
    }
}

/// What the kernel takes as a name (`dev_valid_name`).
fn is_interface(name: &str) -> bool {
    let plain = name.bytes().all(|c| c.is_ascii_graphic() && c != b'/' && c != b':');
    !name.is_empty() && name.len() <= INTERFACE_NAME_MAX && plain && name != "." && name != ".."
}

/// What useradd(8) takes as a name, or a number.
fn is_user(name: &str) -> bool {
    let plain = name.bytes().all(|c| c.is_ascii_alphanumeric() || b"_-.$".contains(&c));
    !name.is_empty() && name.len() <= 32 && plain && !name.starts_with('-')
}

fn record(settings: &Settings, wrong: &mut Objections) {
    let record = &settings.record;
    wrong.unless(!record.enabled || !record.classes.is_empty(), "record", "classes", || {
        "no class is left to be written: write enabled = false instead".to_owned()
    });
    wrong.unless(record.flush <= record.segment_time, "record", "flush", || {
        "is longer than segment-time: segments would end before they are written".to_owned()
    });
    let mut folders: Vec<&Path> = vec![&settings.data.folder];
    for (key, folder) in
        record.volumes.iter().map(|f| ("volumes", f)).chain(record.slow_tier.iter().map(|f| ("slow-tier", f)))
    {
        let again = folders.contains(&folder.as_path());
        wrong.unless(!again, "record", key, || format!("'{}' is used already", folder.display()));
        folders.push(folder);
    }
    if let Some(exec) = &record.exec {
        wrong.unless(exec.is_absolute(), "record", "exec", || "the program needs its whole path".to_owned());
    }
}
