//! How people are told.

use super::{Keys, Own, Reader};
use crate::rule::settings::{ChannelKind, ChannelSection, SecurityKind, Transport};
use crate::rule::{Channel, Way};

/// Keys, and the kinds of channels that have them.
const OF_KINDS: [(&str, &[ChannelKind]); 12] = [
    ("url", &[ChannelKind::Webhook]),
    ("headers", &[ChannelKind::Webhook]),
    ("authorization-file", &[ChannelKind::Webhook]),
    ("issuers", &[ChannelKind::Webhook, ChannelKind::Mail, ChannelKind::Syslog]),
    ("server", &[ChannelKind::Mail, ChannelKind::Syslog]),
    ("security", &[ChannelKind::Mail]),
    ("from", &[ChannelKind::Mail]),
    ("to", &[ChannelKind::Mail]),
    ("user", &[ChannelKind::Mail]),
    ("password-file", &[ChannelKind::Mail]),
    ("transport", &[ChannelKind::Syslog]),
    ("facility", &[ChannelKind::Syslog]),
];
/// Header fields that are ours to say.
const OWN_HEADERS: [&str; 6] =
    ["host", "content-length", "content-type", "connection", "transfer-encoding", "idempotency-key"];

impl Reader<'_, '_, '_> {
    pub(super) fn channel(&mut self, own: &Own<'_>) -> Option<Channel> {
        let mut section = ChannelSection::default();
        let keys = self.section(own, &[], &mut section);
        if !keys.has("kind") {
            let what = format!("[{}] needs a kind: \"webhook\", \"mail\", \"syslog\" or \"command\"", own.section);
            self.sheet.wrong(own.at, what);
            return None;
        }
        for (key, kinds) in OF_KINDS.iter().filter(|(key, kinds)| keys.has(key) && !kinds.contains(&section.kind)) {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
            let what = format!("a channel \"{}\" has no '{key}'; {} has", section.kind.name(), names.join(", "));
            self.sheet.wrong(keys.at(key), what);
        }
        if keys.has("command") && section.kind != ChannelKind::Command {
            self.sheet.wrong(keys.at("command"), format!("a channel \"{}\" has no 'command'", section.kind.name()));
        }
        let timeout_s = self.seconds(section.timeout, keys.at("timeout"));
        let retry_for_s = self.seconds(section.retry_for, keys.at("retry-for"));
        let way = match section.kind {
            ChannelKind::Webhook => self.webhook(section, own, &keys),
            ChannelKind::Mail => self.mail(section, own, &keys),
            ChannelKind::Syslog => self.syslog(section, own, &keys),
            ChannelKind::Command => self.command(section, own),
        };
        Some(Channel { way, timeout_s, retry_for_s })
    }

    fn webhook(&mut self, section: ChannelSection, own: &Own<'_>, keys: &Keys) -> Way {
        let parsed = section.url.parse::<hyper::Uri>().ok();
        let right = parsed
            .as_ref()
            .is_some_and(|uri| uri.host().is_some() && matches!(uri.scheme_str(), Some("http" | "https")));
        if !right {
            let what = format!("[{}] needs a url: \"https://host/path\"", own.section);
            self.sheet.wrong(keys.at("url"), what);
        }
        let headers = section.headers.iter().filter_map(|text| self.header(text, keys.at("headers"))).collect();
        let ChannelSection { url, authorization_file, issuers, .. } = section;
        Way::Webhook { url, headers, authorization_file, issuers }
    }

    fn header(&mut self, text: &str, at: usize) -> Option<(String, String)> {
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().to_owned());
        let whole = hyper::header::HeaderName::try_from(&name).is_ok()
            && hyper::header::HeaderValue::try_from(&value).is_ok()
            && !value.is_empty();
        if !whole {
            self.sheet.wrong(at, format!("'{text}': a header field is \"NAME: VALUE\""));
            return None;
        }
        if OWN_HEADERS.contains(&name.as_str()) {
            self.sheet.wrong(at, format!("the header field '{name}' is the program's to say"));
        }
        Some((name, value))
    }

    fn mail(&mut self, section: ChannelSection, own: &Own<'_>, keys: &Keys) -> Way {
        self.server(&section.server, own, keys);
        for (key, list) in [("from", std::slice::from_ref(&section.from)), ("to", section.to.as_slice())] {
            if list.is_empty() {
                self.sheet.wrong(own.at, format!("[{}] needs '{key}'", own.section));
            }
            for address in list.iter().filter(|address| !is_mailbox(address)) {
                self.sheet.wrong(keys.at(key), format!("{key}: '{address}' is no address such as noc@example.org"));
            }
        }
        if section.user.is_some() != section.password_file.is_some() {
            self.sheet.wrong(own.at, format!("[{}] needs both 'user' and 'password-file', or none", own.section));
        }
        if section.user.is_some() && section.security == SecurityKind::None {
            self.sheet.wrong(keys.at("security"), "a password is not sent over a connection without TLS".to_owned());
        }
        let ChannelSection { server, security, from, to, user, password_file, issuers, .. } = section;
        Way::Mail { server, security, from, to, user, password_file, issuers }
    }

    fn syslog(&mut self, section: ChannelSection, own: &Own<'_>, keys: &Keys) -> Way {
        self.server(&section.server, own, keys);
        if section.issuers.is_some() && section.transport != Transport::Tls {
            self.sheet.wrong(keys.at("issuers"), "'issuers' is of transport \"tls\"".to_owned());
        }
        let ChannelSection { server, transport, facility, issuers, .. } = section;
        Way::Syslog { server, transport, facility, issuers }
    }

    fn server(&mut self, server: &str, own: &Own<'_>, keys: &Keys) {
        let port = server.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
        if !port.is_some_and(|(host, port)| !host.is_empty() && port > 0) {
            self.sheet.wrong(keys.at("server"), format!("[{}] needs a server: \"host:port\"", own.section));
        }
    }

    fn command(&mut self, section: ChannelSection, own: &Own<'_>) -> Way {
        if section.command.first().is_none_or(crate::rule::Text::is_empty) {
            let what = format!("[{}] needs a command: [\"program\", \"argument\"]", own.section);
            self.sheet.wrong(own.at, what);
        }
        Way::Command { command: section.command }
    }
}

/// Whether an address can stand between angle brackets as it is (RFC 5321 section 4.1.2), in ASCII.
fn is_mailbox(address: &str) -> bool {
    let inside = |b: u8| b.is_ascii_graphic() && !b"<>()[],;:\\\"".contains(&b);
    let parts = address.split_once('@');
    address.len() <= 254
        && address.bytes().all(inside)
        && parts.is_some_and(|(user, host)| !user.is_empty() && !host.is_empty() && !host.contains('@'))
}
