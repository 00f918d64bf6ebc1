//! Profiles: what an entry of the directory says of a subscriber, under the names that the program knows.

use crate::operation::Entry;
use std::fmt;

/// Values of one field.
const VALUES_MAX: usize = 64;
/// The octet that a remembered profile begins with: the version of how it is written.
const VERSION: u8 = 1;

/// A field of a profile, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name in the program: `plan`, `account`, `credit`, `status`, whatever is asked for.
    pub name: String,
    /// The attribute of the directory.
    pub attribute: String,
    /// Whether an entry without it is no profile.
    pub is_required: bool,
}

/// What is known of a subscriber.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// The distinguished name of the entry.
    pub name: String,
    /// Names of fields with their values, in the order of the settings; fields without a value are left out.
    pub fields: Vec<(String, Vec<String>)>,
}

impl Profile {
    /// What the fields are of an entry.
    ///
    /// # Errors
    /// What is missing, too much or no text, for people: names, no values.
    pub fn of(entry: &Entry, fields: &[Field]) -> Result<Profile, String> {
        let mut profile = Profile { name: entry.name.clone(), fields: Vec::new() };
        for field in fields {
            let values = entry.values(&field.attribute);
            if values.is_empty() && field.is_required {
                return Err(format!("the entry has no {} for '{}'", field.attribute, field.name));
            }
            if values.len() > VALUES_MAX {
                return Err(format!("the entry has more than {VALUES_MAX} values of {}", field.attribute));
            }
            let texts = values.iter().map(|value| String::from_utf8(value.clone())).collect::<Result<Vec<_>, _>>();
            let texts = texts.map_err(|_| format!("the entry's {} is no text", field.attribute))?;
            profile.fields.extend((!texts.is_empty()).then(|| (field.name.clone(), texts)));
        }
        Ok(profile)
    }

    /// All values of a field, in no order; none if it has none.
    pub fn all(&self, name: &str) -> &[String] {
        self.fields.iter().find(|(has, _)| has == name).map_or(&[], |(_, values)| values)
    }

    /// The value of a field that has one.
    pub fn one(&self, name: &str) -> Option<&str> {
        self.all(name).first().map(String::as_str)
    }
}

/// The names of its fields: what they say stays out of logs.
impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.fields.iter().map(|(name, _)| name)).finish()
    }
}

/// What is remembered of an identity: whether it has a profile, and since when that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Milliseconds since 1970, UTC.
    pub(crate) at_ms: u64,
    pub(crate) profile: Option<Profile>,
}

impl Record {
    /// As octets: version, time, whether there is one, then its texts, each with its length.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend(self.at_ms.to_be_bytes());
        let Some(profile) = &self.profile else { return out };
        text(&profile.name, &mut out);
        for (name, values) in &profile.fields {
            text(name, &mut out);
            number(values.len(), &mut out);
            values.iter().for_each(|value| text(value, &mut out));
        }
        out
    }

    /// What was written; none if it was not written so.
    pub(crate) fn read(octets: &[u8]) -> Option<Record> {
        let (version, rest) = octets.split_first()?;
        let (at, mut rest) = rest.split_first_chunk()?;
        let at_ms = u64::from_be_bytes(*at);
        if *version != VERSION {
            return None;
        }
        if rest.is_empty() {
            return Some(Record { at_ms, profile: None });
        }
        let mut profile = Profile { name: take_text(&mut rest)?, fields: Vec::new() };
        while !rest.is_empty() {
            let name = take_text(&mut rest)?;
            let count = take_number(&mut rest).filter(|count| *count <= VALUES_MAX)?;
            let values = (0..count).map(|_| take_text(&mut rest)).collect::<Option<_>>()?;
            profile.fields.push((name, values));
        }
        Some(Record { at_ms, profile: Some(profile) })
    }
}

fn number(number: usize, out: &mut Vec<u8>) {
    // An answer has less than 4 GiB: its octets are limited.
    out.extend((number as u32).to_be_bytes());
}

fn text(text: &str, out: &mut Vec<u8>) {
    number(text.len(), out);
    out.extend(text.as_bytes());
}

fn take_number(rest: &mut &[u8]) -> Option<usize> {
    let (number, after) = rest.split_first_chunk()?;
    *rest = after;
    usize::try_from(u32::from_be_bytes(*number)).ok()
}

fn take_text(rest: &mut &[u8]) -> Option<String> {
    let length = take_number(rest)?;
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn field(name: &str, attribute: &str, is_required: bool) -> Field {
        Field { name: name.to_owned(), attribute: attribute.to_owned(), is_required }
    }

    fn entry() -> Entry {
        let attribute = |name: &str, values: &[&[u8]]| (name.to_owned(), values.iter().map(|v| v.to_vec()).collect());
        let attributes = vec![
            attribute("tlPlan", &[b"gold"]),
            attribute("mobile", &[b"441", b"442"]),
            attribute("photo", &[b"\xff\xd8"]),
        ];
        Entry { name: "uid=a,dc=b".to_owned(), attributes }
    }

    #[test]
    fn attributes_become_fields() {
        let fields = [field("plan", "TLPLAN", true), field("msisdn", "mobile", false), field("status", "s", false)];
        let profile = Profile::of(&entry(), &fields).expect("a profile");
        assert_eq!((profile.one("plan"), profile.one("status")), (Some("gold"), None));
        assert_eq!(profile.all("msisdn"), ["441", "442"]);
        assert_eq!(format!("{profile:?}"), "[\"plan\", \"msisdn\"]");
    }

    #[test]
    fn what_makes_no_profile_is_told_without_values() {
        let no_text = Profile::of(&entry(), &[field("face", "photo", false)]);
        assert_eq!(no_text, Err("the entry's photo is no text".to_owned()));
        let missing = Profile::of(&entry(), &[field("account", "tlAccount", true)]);
        assert_eq!(missing, Err("the entry has no tlAccount for 'account'".to_owned()));
    }

    #[test]
    fn what_was_not_written_so_is_not_read() {
        let profile = Profile { name: "a".to_owned(), fields: vec![("b".to_owned(), vec!["c".to_owned()])] };
        let octets = Record { at_ms: 7, profile: Some(profile) }.write();
        assert!((0..octets.len()).filter(|n| *n != 9 && *n != 14).all(|n| Record::read(&octets[..n]).is_none()));
        assert!(Record::read(&[2, 0, 0, 0, 0, 0, 0, 0, 0]).is_none());
        let many = [&octets[..14], b"\x00\x00\x00\x01b\xff\xff\xff\xff"].concat();
        assert!(Record::read(&many).is_none());
    }

    fn fields() -> impl Strategy<Value = Vec<(String, Vec<String>)>> {
        prop::collection::vec((".{0,9}", prop::collection::vec(".{0,9}", 0..4)), 0..4)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            at_ms: u64,
            profile in prop::option::of((".{0,9}", fields())),
            noise: Vec<u8>,
        ) {
            let profile = profile.map(|(name, fields)| Profile { name, fields });
            let record = Record { at_ms, profile };
            prop_assert_eq!(Record::read(&record.write()), Some(record));
            let _ = Record::read(&noise);
        }
    }
}
