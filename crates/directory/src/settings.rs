//! Settings: what is written in `[directory]`, and the options that it becomes.

use crate::address::ServerAddress;
use crate::engine::Options;
use crate::identity::Kind;
use crate::look_ups::LookUpOptions;
use crate::pool::PoolOptions;
use crate::profile::Field;
use crate::template::Template;
use std::path::PathBuf;
use std::time::Duration;
use trunkline_kit::config::Octets;
use trunkline_wire::ldap;

/// The servers of a pool.
// Limit: LDAP servers
// Beyond: the configuration is refused
// Seen in: the error message
pub const SERVERS_MAX: usize = 32;

trunkline_kit::choices! {
    /// How far below the base subscribers lie.
    pub enum Scope {
        /// Anywhere below it, or it.
        Subtree = "subtree",
        /// Directly below it.
        One = "one",
        /// It alone: the base has a place for the identity.
        Base = "base",
    }
}

trunkline_kit::section! {
    /// Subscribers out of LDAP.
    pub struct DirectorySection {
        /// The servers: `ldap://HOST:PORT` or `ldaps://HOST:PORT`; the ports are 389 and 636 if none is given. All
        /// have the same entries; each request goes to the one with the fewest requests in flight.
        servers: Vec<String> = Vec::new() => Restart;
        /// Whether connections of `ldap://` begin TLS before anything else is said (StartTLS).
        start_tls: bool = false => Restart;
        /// A file with the certificates (PEM) of who may vouch for the servers; the system's if there is none.
        ca_file: Option<PathBuf> = None => Restart;
        /// Who asks: a distinguished name. Nobody if it is empty.
        bind_name: String = String::new() => Restart;
        /// A file with the password for it, in its first line.
        bind_password_file: Option<PathBuf> = None => Restart;
        /// Where subscribers lie: a distinguished name. It may have a place for the identity:
        /// `uid={msisdn},ou=people,dc=example`.
        base: String = String::new() => Restart;
        /// How far below.
        scope: Scope = Scope::Subtree => Restart;
        /// How they are found: a filter for each kind of identity, with its place in it: `{msisdn}`, `{imsi}`,
        /// `{sip}`, `{nai}`, `{private}`. Attributes in filters have to be indexed by the server.
        filters: Vec<String> = vec!["(mobile={msisdn})".to_owned()] => Restart;
        /// What is read of them: `FIELD = ATTRIBUTE`, with `required` behind it if an entry without it is no
        /// subscriber.
        attributes: Vec<String> = vec!["account = uid required".to_owned()] => Restart;
        /// Connections to each server.
        connections: u16 = 2 => Restart, 1 => 64;
        /// Requests in flight on each connection.
        window: u32 = 64 => Restart, 1 => 10_000;
        /// Requests that wait for room in a window; one more fails at once.
        queue: u32 = 10_000 => Restart, 1 => 1_000_000;
        /// Look-ups and requests that have no end yet; one more is refused.
        outstanding: u32 = 100_000 => Restart, 1 => 10_000_000;
        /// How long a request may wait for room, and then for its answer. A search goes once to another server then.
        timeout: Duration = Duration::from_secs(1) => Restart,
            Duration::from_millis(10) => Duration::from_secs(60);
        /// How long a connection may take until it is ready: TLS and who asks included.
        connect_timeout: Duration = Duration::from_secs(2) => Restart,
            Duration::from_millis(10) => Duration::from_secs(60);
        /// How long a server that failed is left alone at first; twice as long after each failure.
        retry: Duration = Duration::from_millis(200) => Restart,
            Duration::from_millis(10) => Duration::from_secs(60);
        /// How long at most.
        retry_max: Duration = Duration::from_secs(10) => Restart,
            Duration::from_millis(10) => Duration::from_secs(3600);
        /// How long a profile is remembered; `0 s` for not at all.
        remember: Duration = Duration::from_secs(60) => Restart, Duration::ZERO => Duration::from_secs(86_400);
        /// How long after that a profile stands in while no server answers.
        stale: Duration = Duration::from_secs(3600) => Restart, Duration::ZERO => Duration::from_secs(30 * 86_400);
        /// How long it is remembered that there is no profile.
        remember_absent: Duration = Duration::from_secs(10) => Restart,
            Duration::ZERO => Duration::from_secs(86_400);
        /// Octets of profiles that are remembered.
        memory_size: Octets = Octets::mib(128) => Restart, Octets(0) => Octets::gib(64);
        /// Entries of an answer.
        answer_entries: u32 = 1000 => Restart, 2 => 1_000_000;
        /// Octets of an answer, and of each message of it.
        answer_size: Octets = Octets::mib(1) => Restart, Octets(1024) => Octets::mib(64);
    }
}

impl DirectorySection {
    /// The options that it becomes.
    ///
    /// # Errors
    /// All that is wrong, for people: the key and what is wrong with its value.
    pub fn options(&self) -> Result<Options, Vec<String>> {
        let mut mistakes = Vec::new();
        let servers = all(&mut mistakes, "servers", &self.servers, |text| ServerAddress::new(text, self.start_tls));
        let templates = all(&mut mistakes, "filters", &self.filters, |text| Template::new(&self.base, text));
        let fields = all(&mut mistakes, "attributes", &self.attributes, field);
        let mut wrong = |is_wrong: bool, what: &str| mistakes.extend(is_wrong.then(|| what.to_owned()));
        wrong(self.servers.is_empty(), "servers: none is given");
        wrong(self.servers.len() > SERVERS_MAX, "servers: there are too many");
        wrong(self.filters.is_empty(), "filters: none is given");
        wrong(self.attributes.is_empty(), "attributes: none is given");
        let is_twice = |kind: Kind| templates.iter().filter(|template| template.kind() == kind).count() > 1;
        wrong(Kind::ALL.into_iter().any(is_twice), "filters: two for the same kind of identity");
        let names = |name: &str| fields.iter().filter(|field| field.name == name).count();
        wrong(fields.iter().any(|field| names(&field.name) > 1), "attributes: two for the same field");
        let nobody = self.bind_name.is_empty();
        // A name without a password is nobody to a server, without a word (RFC 4513 section 5.1.2).
        wrong(!nobody && self.bind_password_file.is_none(), "bind-password-file: bind-name needs one");
        wrong(nobody && self.bind_password_file.is_some(), "bind-name: it is empty, but a password is given");
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        Ok(self.cut(servers, templates, fields))
    }

    fn cut(&self, servers: Vec<ServerAddress>, templates: Vec<Template>, fields: Vec<Field>) -> Options {
        let answer_octets_max = usize::try_from(self.answer_size.0).unwrap_or(usize::MAX);
        let pool = PoolOptions {
            servers: servers.len(),
            connections: usize::from(self.connections),
            window: self.window as usize,
            queue: self.queue as usize,
            timeout: self.timeout,
            retry: self.retry,
            retry_max: self.retry_max,
            entries_max: self.answer_entries as usize,
            answer_octets_max,
        };
        let scope = match self.scope {
            Scope::Subtree => ldap::Scope::Subtree,
            Scope::One => ldap::Scope::One,
            Scope::Base => ldap::Scope::Base,
        };
        // The server stops soon after nobody waits any more; its limit counts whole seconds.
        let time_limit_seconds = u32::try_from(self.timeout.as_millis().div_ceil(1000)).unwrap_or(u32::MAX);
        let (fresh, stale, absent) = (self.remember, self.stale, self.remember_absent);
        let look_ups = LookUpOptions { templates, scope, fields, fresh, stale, absent, time_limit_seconds };
        Options {
            servers,
            ca_file: self.ca_file.clone(),
            bind_name: self.bind_name.clone(),
            bind_password_file: self.bind_password_file.clone(),
            connect_timeout: self.connect_timeout,
            outstanding: self.outstanding as usize,
            memory_octets: usize::try_from(self.memory_size.0).unwrap_or(usize::MAX),
            pool,
            look_ups,
        }
    }
}

/// Reads each text of a list; what cannot be read is told with the name of the key.
fn all<T>(mistakes: &mut Vec<String>, key: &str, texts: &[String], read: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
    let mut tell = |what: String| mistakes.push(format!("{key}: {what}"));
    texts.iter().filter_map(|text| read(text).map_err(&mut tell).ok()).collect()
}

/// `plan = tlPlan` or `plan = tlPlan required`.
fn field(text: &str) -> Result<Field, String> {
    let wrong = || format!("'{text}' is not of the form FIELD = ATTRIBUTE or FIELD = ATTRIBUTE required");
    let (name, rest) = text.split_once('=').ok_or_else(wrong)?;
    let mut words = rest.split_whitespace();
    let attribute = words.next().ok_or_else(wrong)?;
    let is_required = match (words.next(), words.next()) {
        (None, None) => false,
        (Some("required"), None) => true,
        _ => return Err(wrong()),
    };
    let is_word =
        |text: &str| text.bytes().all(|o| o.is_ascii_alphanumeric() || matches!(o, b'-' | b'_' | b'.' | b';'));
    if name.trim().is_empty() || !is_word(name.trim()) || !is_word(attribute) {
        return Err(wrong());
    }
    Ok(Field { name: name.trim().to_owned(), attribute: attribute.to_owned(), is_required })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section() -> DirectorySection {
        DirectorySection {
            servers: vec!["ldap://a".to_owned()],
            base: "dc=a".to_owned(),
            ..DirectorySection::default()
        }
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn what_is_written_becomes_options() {
        let section = DirectorySection {
            filters: texts(&["(tel={msisdn})", "(tlImsi={imsi})"]),
            attributes: texts(&["plan=tlPlan", "account = tlAccount  required"]),
            timeout: Duration::from_millis(1500),
            ..section()
        };
        let options = section.options().expect("all is well");
        assert_eq!((options.pool.servers, options.look_ups.time_limit_seconds), (1, 2));
        let fields: Vec<_> =
            options.look_ups.fields.iter().map(|f| (&f.name[..], &f.attribute[..], f.is_required)).collect();
        assert_eq!(fields, [("plan", "tlPlan", false), ("account", "tlAccount", true)]);
        let kinds: Vec<Kind> = options.look_ups.templates.iter().map(Template::kind).collect();
        assert_eq!(kinds, [Kind::Msisdn, Kind::Imsi]);
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let section = DirectorySection {
            servers: texts(&["http://a", "ldaps://b"]),
            filters: texts(&["(a=b)", "(c={imsi})", "(d={imsi})"]),
            attributes: texts(&["plan", "a = b c", "e = f", "e = g"]),
            bind_name: "cn=a".to_owned(),
            ..section()
        };
        let mistakes = section.options().expect_err("much is wrong");
        let keys: Vec<&str> = mistakes.iter().filter_map(|mistake| mistake.split(':').next()).collect();
        let expected =
            ["servers", "filters", "attributes", "attributes", "filters", "attributes", "bind-password-file"];
        assert_eq!(keys, expected, "{mistakes:?}");
        assert_eq!(DirectorySection::default().options().map_err(|mistakes| mistakes.len()).err(), Some(1));
    }
}
