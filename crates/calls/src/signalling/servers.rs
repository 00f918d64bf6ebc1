//! Who ends a call's media: a phone, or a server that plays, records and waits for digits.

use super::call::Call;
use trunkline_wire::sip::Message;

/// The name of a program that does, as User-Agent and Server begin or contain it (RFC 3261 sections 20.35, 20.41), by
/// its first two octets, small letters: PBXs with voice mail and menus, and servers for them.
fn name_with(first_two: [u8; 2]) -> Option<&'static str> {
    match &first_two {
        b"3c" => Some("3cx"),
        b"as" => Some("asterisk"),
        b"el" => Some("elastix"),
        b"fp" => Some("fpbx"),
        b"fr" => Some("freeswitch"),
        b"is" => Some("issabel"),
        b"ja" => Some("jambonz"),
        b"ka" => Some("kazoo"),
        b"se" => Some("sems"),
        b"si" => Some("sipxbridge"),
        b"un" => Some("unity"),
        b"vi" => Some("vicidial"),
        b"vo" => Some("voicemail"),
        b"wa" => Some("wazo"),
        _ => None,
    }
}

/// Whether a User-Agent or Server header field names such a program. It is asked of each call, so that nothing is
/// prepared for the search.
pub fn is_media_server(name: &[u8]) -> bool {
    let begins = |at: usize, server: &str| {
        name[at..].get(..server.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(server.as_bytes()))
    };
    let mut pairs = name.windows(2).enumerate();
    pairs.any(|(at, pair)| {
        let first_two = [pair[0], pair[1]].map(|octet| octet.to_ascii_lowercase());
        name_with(first_two).is_some_and(|server| begins(at, server))
    })
}

impl Call {
    /// Notes who accepts the call.
    pub fn note_server(&mut self, message: &Message<'_>) {
        if !self.is_accepted() {
            self.facts.servers[1] = is_media_server(message.user_agent().unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_media_server;

    #[test]
    fn servers_are_told_from_phones() {
        let servers = [
            "Asterisk PBX 18.16.0",
            "FPBX-16.0.40(18.9)",
            "FreeSWITCH-mod_sofia/1.10.9-release~64bit",
            "3CXPhoneSystem 18.0.5",
            "Cisco-UnityConnection/12.5",
            "2600hz Kazoo",
            "x-ELASTIX",
            "VICIdial",
            "fFreeSWITCH",
            "voicevoicemail",
            "Issabel/4",
            "jambonz",
            "SEMS",
            "sipXbridge",
            "wazo",
            "ssems",
        ];
        let phones = [
            "Yealink SIP-T46S 66.85.0.5",
            "Z 5.6.4 v2.10.20.4",
            "Linphone/5.2.4",
            "Cisco-CP8841/12.8.1",
            "",
            "asteris",
            "s",
            "3c x",
        ];
        assert!(servers.iter().all(|name| is_media_server(name.as_bytes())));
        assert!(!phones.iter().any(|name| is_media_server(name.as_bytes())));
    }
}
