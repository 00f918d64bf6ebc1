//! Filters and bases with a place for an identity: what an operator writes once, and what each look-up fills in.
//!
//! The text is read as a filter before any identity is there, and an identity is put in as a value of that filter. So
//! no identity, whatever its characters, makes another filter of it; in a base it is escaped (RFC 4514 section 2.4).

use crate::identity::Kind;
use trunkline_wire::ldap::Filter;

/// Text around places for an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Spaced(Vec<Vec<u8>>);

impl Spaced {
    /// Cuts a text at each `{name}` of this kind.
    fn new(text: &[u8], kind: Kind) -> Spaced {
        let place = format!("{{{}}}", kind.name()).into_bytes();
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some(at) = rest.windows(place.len()).position(|window| window == place) {
            parts.push(rest[..at].to_vec());
            rest = &rest[at + place.len()..];
        }
        parts.push(rest.to_vec());
        Spaced(parts)
    }

    fn fill(&self, value: &[u8]) -> Vec<u8> {
        self.0.join(value)
    }

    fn has_place(&self) -> bool {
        self.0.len() > 1
    }
}

/// How a subscriber is found by one kind of identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    kind: Kind,
    base: Spaced,
    filter: Filter,
}

impl Template {
    /// Reads a filter such as `(msisdn={msisdn})`, to be searched below a base, which may have the same place in it:
    /// `uid={msisdn},ou=people,dc=example`.
    ///
    /// # Errors
    /// What is wrong, for people.
    pub fn new(base: &str, filter: &str) -> Result<Template, String> {
        let read: Filter = filter.parse().map_err(|error| format!("'{filter}' is no filter: {error}"))?;
        let mut kinds: Vec<Kind> = Vec::new();
        for value in read.values().into_iter().chain([base.as_bytes()]) {
            kinds.extend(Kind::ALL.into_iter().filter(|kind| Spaced::new(value, *kind).has_place()));
        }
        kinds.sort_unstable();
        kinds.dedup();
        match kinds[..] {
            [kind] => Ok(Template { kind, base: Spaced::new(base.as_bytes(), kind), filter: read }),
            [] => Err(format!("'{filter}' has no place for an identity, such as {{msisdn}}")),
            _ => {
                Err(format!("'{filter}' has places for several kinds of identities: it takes one filter for each kind"))
            }
        }
    }

    /// The kind of identity that it finds by.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the base has a place for it: then there is an entry of that name or none.
    pub fn is_in_base(&self) -> bool {
        self.base.has_place()
    }

    /// The filter with an identity in its places.
    pub fn filter(&self, identity: &str) -> Filter {
        self.filter.with_values(&mut |value| Spaced::new(value, self.kind).fill(identity.as_bytes()))
    }

    /// The base with an identity in its places.
    pub fn base(&self, identity: &str) -> String {
        // It was cut out of a text between whole characters, and filled with one.
        String::from_utf8_lossy(&self.base.fill(escaped(identity).as_bytes())).into_owned()
    }
}

/// As a value in a distinguished name (RFC 4514 section 2.4): what is not a letter, a digit or plain is escaped.
fn escaped(text: &str) -> String {
    let plain = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_' | b'@' | b':' | b'/');
    let escape = |octet: u8| if plain(octet) { char::from(octet).to_string() } else { format!("\\{octet:02x}") };
    text.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn template(filter: &str) -> Template {
        Template::new("ou=people,dc=example", filter).expect("a filter")
    }

    #[test]
    fn an_identity_fills_its_place_and_no_more() {
        let template = template("(&(objectClass=person)(|(mobile={msisdn})(tel=+{msisdn}*)))");
        assert_eq!(template.kind(), Kind::Msisdn);
        let shown = template.filter("44*)(uid=*").to_string();
        assert_eq!(shown, "(&(objectClass=person)(|(mobile=44\\2a\\29\\28uid=\\2a)(tel=+44\\2a\\29\\28uid=\\2a*)))");
        assert_eq!(template.filter("{msisdn}").values()[1], b"{msisdn}");
    }

    #[test]
    fn an_identity_in_a_base_stays_one_value() {
        let template = Template::new("uid={nai},dc=a", "(objectClass=*)").expect("a place in the base");
        assert_eq!(template.base("u@r"), "uid=u@r,dc=a");
        assert_eq!(template.base("x,dc=b+#\u{e4}"), "uid=x\\2cdc\\3db\\2b\\23\\c3\\a4,dc=a");
        assert_eq!(template.filter("u@r").to_string(), "(objectClass=*)");
    }

    #[test]
    fn what_is_no_template_is_told() {
        for (filter, word) in
            [("(a=b)", "no place"), ("(a={imsi}", "character"), ("(|(a={imsi})(b={nai}))", "several kinds")]
        {
            assert!(Template::new("dc=a", filter).expect_err(filter).contains(word), "{filter}");
        }
        assert!(Template::new("uid={sip},dc=a", "(a={imsi})").is_err());
    }

    proptest! {
        /// Read again from its text, the filter has the shape that the operator wrote, and the identity as its value.
        #[test]
        fn no_identity_changes_a_filter(identity in "\\PC{1,20}|[(){}*\\\\&|!=a]{1,20}") {
            let filter = template("(|(a={imsi})(!(b=x{imsi}y)))").filter(&identity);
            let Filter::Or(parts) = filter.to_string().parse().expect("a filter") else { panic!() };
            prop_assert_eq!(parts.len(), 2);
            prop_assert_eq!(&parts[0], &Filter::Equal("a".to_owned(), identity.clone().into_bytes()));
            let not = Filter::Equal("b".to_owned(), format!("x{identity}y").into_bytes());
            prop_assert_eq!(&parts[1], &Filter::Not(Box::new(not)));
        }
    }
}
