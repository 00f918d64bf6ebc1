//! Who ends a call's media: a phone, or a server that plays, records and waits for digits.

use super::call::Call;
use trunkline_wire::sip::Message;

/// Names of programs that do, as User-Agent and Server begin or contain them (RFC 3261 sections 20.35, 20.41), small
/// letters: PBXs with voice mail and menus, and servers for them.
const NAMES: [&str; 14] = [
    "asterisk",
    "freeswitch",
    "fpbx",
    "issabel",
    "elastix",
    "vicidial",
    "wazo",
    "3cx",
    "kazoo",
    "sems",
    "jambonz",
    "unity",
    "sipxbridge",
    "voicemail",
];

/// Whether a User-Agent or Server header field names such a program.
pub fn is_media_server(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|server| memchr::memmem::find(&name, server.as_bytes()).is_some())
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
        ];
        let phones = ["Yealink SIP-T46S 66.85.0.5", "Z 5.6.4 v2.10.20.4", "Linphone/5.2.4", "Cisco-CP8841/12.8.1", ""];
        assert!(servers.iter().all(|name| is_media_server(name.as_bytes())));
        assert!(!phones.iter().any(|name| is_media_server(name.as_bytes())));
    }
}
