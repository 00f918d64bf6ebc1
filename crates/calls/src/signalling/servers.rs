//! Who ends a call's media: a phone, or a server that plays, records and waits for digits.

use super::call::Call;
use trunkline_wire::sip::Message;

/// Names of programs that do, as User-Agent and Server begin or contain them (RFC 3261 sections 20.35, 20.41), in small
/// letters: PBXs with voice mail and menus, and servers for them.
const NAMES: [&[u8]; 14] = [
    b"3cx",
    b"asterisk",
    b"elastix",
    b"fpbx",
    b"freeswitch",
    b"issabel",
    b"jambonz",
    b"kazoo",
    b"sems",
    b"sipxbridge",
    b"unity",
    b"vicidial",
    b"voicemail",
    b"wazo",
];

/// For each octet that a name may begin with, in either case, the second ones, a bit each: a letter has the same low
/// five bits in either case.
const SECOND: [u32; 256] = {
    let mut second = [0; 256];
    let mut at = 0;
    while at < NAMES.len() {
        let bit = 1 << (NAMES[at][1] & 31);
        let first = NAMES[at][0];
        second[first.to_ascii_lowercase() as usize] |= bit;
        if first.is_ascii_alphabetic() {
            second[first.to_ascii_uppercase() as usize] |= bit;
        }
        at += 1;
    }
    second
};

/// Whether a User-Agent or Server header field names such a program. It is asked of each call that is accepted, so that
/// nothing is prepared for the search, and nearly every octet is passed by one look.
pub fn is_media_server(name: &[u8]) -> bool {
    let Some((mut first, rest)) = name.split_first() else { return false };
    for (at, second) in rest.iter().enumerate() {
        if SECOND[usize::from(*first)] >> (second & 31) & 1 != 0 && begins(&name[at..]) {
            return true;
        }
        first = second;
    }
    false
}

/// Whether one of the names stands at the beginning.
#[inline(never)]
fn begins(name: &[u8]) -> bool {
    let [first, second, ..] = *name else { return false };
    let (first, second) = (first.to_ascii_lowercase(), second.to_ascii_lowercase());
    // Octet by octet: a call to compare two of them costs more than the comparison.
    let mut servers = NAMES.iter().filter(|server| server[0] == first && server[1] == second);
    servers.any(|server| name.get(..server.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(server)))
}

impl Call {
    /// Notes who accepts the call.
    pub fn note_server(&mut self, message: &Message<'_>) {
        if !self.is_accepted() {
            self.facts.server = is_media_server(message.user_agent().unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NAMES, is_media_server};
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn names_are_found_anywhere(name in "[3aA ]{0,2}([cCxX3eEfFwWaAzZoOsSm5]{0,9}|3Cx|SEms|waZo)[ -z]{0,3}") {
            let small = name.to_ascii_lowercase();
            let is_named = NAMES.iter().any(|server| memchr::memmem::find(small.as_bytes(), server).is_some());
            prop_assert_eq!(is_media_server(name.as_bytes()), is_named);
        }
    }
}
