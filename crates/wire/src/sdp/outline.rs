//! What differs from call to call in a usual description, told apart from what a network says again and again.

use super::parse::{ipv4, is_origin, next_line};
use super::{Connection, Oddities, Session};
use crate::Endpoint;

/// A description of audio at one IPv4 address, in two parts: where it is to be sent, and all the rest of its media
/// section. Two bodies with the same section differ in nothing that [`super::parse`] tells of media but the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline<'a> {
    /// Address of the session and port of its first media description, which is not 0.
    pub endpoint: Endpoint,
    /// All that follows that port.
    pub section: &'a [u8],
}

impl<'a> Outline<'a> {
    /// Tells the parts apart, if before the first media description there is only what is usual: lines that end with
    /// CRLF, a whole origin, `c=IN IP4` with an address, no attributes. None tells nothing.
    pub fn of(octets: &'a [u8]) -> Option<Outline<'a>> {
        let mut rest = octets.strip_prefix(b"v=0\r\n")?;
        let (mut address, mut origin, mut odd) = (None, false, Oddities::default());
        loop {
            if let Some(media) = rest.strip_prefix(b"m=") {
                let (port, section) = audio_port(media).filter(|_| origin)?;
                return Some(Outline { endpoint: Endpoint::new(address?, port), section });
            }
            match next_line(&mut rest, &mut odd) {
                [b'o', b'=', value @ ..] => origin = is_origin(value),
                [b'c', b'=', value @ ..] => address = Some(ipv4(value.strip_prefix(b"IN IP4 ")?)?),
                [b'b'..=b'z', b'=', ..] => {}
                _ => return None,
            }
            if !odd.is_empty() {
                return None;
            }
        }
    }

    /// Whether the section alone says all that [`super::parse`] read of this body, so that what was made of it holds
    /// for every body with this section: one media description, without an address of its own.
    pub fn says_all(&self, session: &Session<'_>) -> bool {
        let [media] = &session.media[..] else { return false };
        let own_address = self.section.split(|&o| o == b'\n').any(|line| line.starts_with(b"c="));
        let address = Some(self.endpoint.address);
        !own_address
            && media.port == self.endpoint.port
            && matches!(media.connection, Some(Connection { address: a, .. }) if a == address)
    }
}

/// The port of `audio port ...`, and what follows it; none if it is 0, more than a port, or not there.
fn audio_port(media: &[u8]) -> Option<(u16, &[u8])> {
    let text = media.strip_prefix(b"audio ")?;
    let digits = text.iter().take(6).position(|&o| o == b' ')?;
    let (port, section) = text.split_at_checked(digits)?;
    let port = super::parse::digits(port).and_then(|n| u16::try_from(n).ok()).filter(|n| *n != 0)?;
    Some((port, section))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdp::parse;

    const HEAD: &str = "v=0\r\no=- 1 2 IN IP4 192.0.2.9\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\n";

    #[test]
    fn tells_the_endpoint_from_the_section() {
        let body = format!("{HEAD}m=audio 4000 RTP/AVP 0\r\na=sendonly\r\n");
        let outline = Outline::of(body.as_bytes()).unwrap();
        assert_eq!(outline.endpoint.to_string(), "192.0.2.1:4000");
        assert_eq!(outline.section, b" RTP/AVP 0\r\na=sendonly\r\n");
        assert!(outline.says_all(&parse(body.as_bytes())));
    }

    #[test]
    fn what_is_not_usual_has_none() {
        for body in [
            HEAD.to_owned(),
            format!("{HEAD}m=audio 0 RTP/AVP 0\r\n"),
            format!("{HEAD}m=audio 4000/2 RTP/AVP 0\r\n"),
            format!("{HEAD}m=audio 65536 RTP/AVP 0\r\n"),
            format!("{HEAD}m=video 4000 RTP/AVP 0\r\n"),
            format!("{HEAD}m=audio  4000 RTP/AVP 0\r\n"),
            format!("{HEAD}a=inactive\r\nm=audio 4000 RTP/AVP 0\r\n"),
            format!("{}m=audio 4000 RTP/AVP 0\r\n", HEAD.replace("- 1 2", "-")),
            format!("{}m=audio 4000 RTP/AVP 0\r\n", HEAD.replace("192.0.2.1", "host")),
            format!("{}m=audio 4000 RTP/AVP 0\r\n", HEAD.replace("s=-\r\n", "s=-\n")),
            format!("{}m=audio 4000 RTP/AVP 0\r\n", HEAD.replace("s=-", "\r\ns=-")),
            format!("{}m=audio 4000 RTP/AVP 0\r\n", HEAD.replace("c=", "x=")),
        ] {
            assert_eq!(Outline::of(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn a_section_with_more_in_it_does_not_say_all() {
        for tail in ["c=IN IP4 192.0.2.1\r\n", "m=audio 2 RTP/AVP 0\r\n"] {
            let body = format!("{HEAD}m=audio 4000 RTP/AVP 0\r\n{tail}");
            let outline = Outline::of(body.as_bytes()).unwrap();
            assert!(!outline.says_all(&parse(body.as_bytes())), "{tail}");
        }
    }
}
