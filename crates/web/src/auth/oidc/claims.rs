//! What an ID token claims, and whether that is for us: OpenID Connect Core 1.0, sections 2 and 3.1.3.7.

use super::{OidcError, OidcOptions, SECOND_NS, short};
use crate::auth::role::Role;
use crate::auth::secret::same;
use crate::auth::users::{DISPLAY_NAME_CHARACTERS_MAX, NAME_CHARACTERS_MAX};
use serde_json::{Map, Value};

/// Seconds by which clocks may differ.
pub const CLOCK_LEEWAY_S: i64 = 60;
/// Octets of issuer and subject; the specification says 255.
pub const SUBJECT_OCTETS_MAX: usize = 255;

/// Who somebody is, as the provider says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// Who says so.
    pub issuer: String,
    /// What it calls them; never given to anybody else.
    pub subject: String,
    /// A name for a new user.
    pub name: String,
    /// What to call them.
    pub display_name: String,
    /// The role that their groups make.
    pub role: Role,
}

/// The claims of an ID token whose signature holds.
pub struct Claims(Map<String, Value>);

impl Claims {
    /// From its payload.
    pub fn parse(payload: &[u8]) -> Result<Self, OidcError> {
        super::parsed(payload, "ID token").map(Claims)
    }

    /// Whether it is from the provider, for us, of now, and of this sign-in.
    pub fn check(&self, options: &OidcOptions, nonce: &str, now_ns: i64) -> Result<(), OidcError> {
        let wrong = |what: &str| Err(OidcError::Answer(format!("ID token: {what}")));
        if self.text("iss") != Some(&options.issuer) {
            return wrong("it is of another issuer");
        }
        if !self.audiences().contains(&options.client_id.as_str()) {
            return wrong("it is for another client");
        }
        let party = self.text("azp");
        if self.0.contains_key("azp") && party != Some(&options.client_id) {
            return wrong("it was given to another client (azp)");
        }
        if self.audiences().len() > 1 && party.is_none() {
            return wrong("it is for several clients and does not say which it was given to (azp)");
        }
        let now_s = now_ns / SECOND_NS;
        match self.seconds("exp") {
            Some(exp) if now_s < exp.saturating_add(CLOCK_LEEWAY_S) => {}
            Some(_) => return wrong("it has expired: compare the clocks"),
            None => return wrong("it does not say when it expires"),
        }
        for early in ["iat", "nbf"] {
            match self.0.get(early).map(|_| self.seconds(early)) {
                None => {}
                Some(Some(at)) if at <= now_s.saturating_add(CLOCK_LEEWAY_S) => {}
                Some(_) => return wrong("it is not valid yet: compare the clocks"),
            }
        }
        if !self.text("nonce").is_some_and(|n| same(n, nonce)) {
            return wrong("it belongs to another sign-in");
        }
        Ok(())
    }

    /// Who it is.
    pub fn claimed(&self, options: &OidcOptions) -> Result<Claimed, OidcError> {
        let subject = self.text("sub").filter(|s| (1..=SUBJECT_OCTETS_MAX).contains(&s.len()));
        let subject = subject.ok_or_else(|| OidcError::Answer("ID token: it does not say who it is of".to_owned()))?;
        let values = self.values(&options.role_claim);
        let roles = options.roles.iter().filter(|(value, _)| values.contains(&value.as_str()));
        let named = [options.name_claim.as_str(), "email", "sub"].into_iter().find_map(|c| self.text(c));
        let name = as_name(named.unwrap_or(subject));
        let Some(role) = roles.map(|(_, role)| *role).max() else {
            return Err(OidcError::NoRole { name, subject: subject.to_owned() });
        };
        let display_name: String = short(self.text("name").unwrap_or_default());
        Ok(Claimed {
            issuer: options.issuer.clone(),
            subject: subject.to_owned(),
            name,
            display_name: display_name.chars().take(DISPLAY_NAME_CHARACTERS_MAX).collect(),
            role,
        })
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// RFC 7519 section 2: a number of seconds, that may have decimals.
    fn seconds(&self, name: &str) -> Option<i64> {
        let value = self.0.get(name)?;
        value.as_i64().or_else(|| value.as_f64().map(|s| s as i64))
    }

    fn audiences(&self) -> Vec<&str> {
        texts(self.0.get("aud"))
    }

    /// The values of a claim: its name as it stands, or as a path into objects.
    fn values(&self, path: &str) -> Vec<&str> {
        if let Some(value) = self.0.get(path) {
            return texts(Some(value));
        }
        let mut steps = path.split('.');
        let first = steps.next().and_then(|s| self.0.get(s));
        texts(steps.fold(first, |value, step| value?.get(step)))
    }
}

fn texts(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    }
}

/// The nearest name that a user may have.
fn as_name(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._@+-".contains(c);
    let name: String = text.chars().map(|c| if fits(c) { c.to_ascii_lowercase() } else { '-' }).collect();
    let name: String = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric()).chars().collect();
    let cut: String = name.chars().take(NAME_CHARACTERS_MAX).collect();
    if cut.is_empty() { "user".to_owned() } else { cut }
}
