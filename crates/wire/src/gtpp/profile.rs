//! Messages of a quota server over GTP' version 0, whose numbers are told by configuration.
//!
//! A gateway asks a server for the profile of a subscriber and for quota, reports its use and gives it back; the
//! numbers of messages and elements are the vendor's and not public. So what a message is for ([`Role`]) and what an
//! element says ([`Field`]) are names here, and a [`Profile`] maps them to numbers; [`Profile::default`] has numbers of
//! our own. Elements have the shape of GTP': type, two octets of length, value.

use super::{GtppError, Header, Message, TooLong, Version, Writer, element, message_type};
use core::fmt;

/// What a message is for. A request is answered by the role that follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Role {
    UserProfileRequest,
    UserProfileResponse,
    AuthorizationRequest,
    AuthorizationResponse,
    ReauthorizationRequest,
    ReauthorizationResponse,
    ContentAuthorizationRequest,
    ContentAuthorizationResponse,
    ServiceStopRequest,
    ServiceStopResponse,
    QuotaPushRequest,
    QuotaPushResponse,
    QuotaReturnRequest,
    QuotaReturnResponse,
}

/// What an element says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// The session, octets that the gateway chose.
    Session,
    /// The subscriber's name, text.
    User,
    /// The subscriber's number, digits as text.
    Number,
    /// The subscriber's address, 4 or 16 octets.
    Address,
    /// The service, text.
    Service,
    /// What is asked for, text: a URL.
    Content,
    /// The billing plan, text.
    Plan,
    /// Quota granted, a number of units.
    Granted,
    /// Units used since the last report, a number.
    Used,
    /// Units given back, a number.
    Returned,
    /// What a unit is, a number: 0 octets, 1 seconds, 2 events.
    Unit,
    /// Seconds until the gateway asks again, a number.
    Validity,
    /// Why it is sent, a number.
    Reason,
    /// Where the subscriber is sent, text.
    Redirect,
    /// The result, a number as of [`super::cause`].
    Cause,
}

/// All roles with their names in configuration and the numbers of [`Profile::default`].
pub const ROLES: &[(Role, &str, u8)] = &[
    (Role::UserProfileRequest, "user-profile-request", 16),
    (Role::UserProfileResponse, "user-profile-response", 17),
    (Role::AuthorizationRequest, "authorization-request", 18),
    (Role::AuthorizationResponse, "authorization-response", 19),
    (Role::ReauthorizationRequest, "reauthorization-request", 20),
    (Role::ReauthorizationResponse, "reauthorization-response", 21),
    (Role::ContentAuthorizationRequest, "content-authorization-request", 22),
    (Role::ContentAuthorizationResponse, "content-authorization-response", 23),
    (Role::ServiceStopRequest, "service-stop-request", 24),
    (Role::ServiceStopResponse, "service-stop-response", 25),
    (Role::QuotaPushRequest, "quota-push-request", 26),
    (Role::QuotaPushResponse, "quota-push-response", 27),
    (Role::QuotaReturnRequest, "quota-return-request", 28),
    (Role::QuotaReturnResponse, "quota-return-response", 29),
];

/// All fields with their names in configuration and the numbers of [`Profile::default`].
pub const FIELDS: &[(Field, &str, u8)] = &[
    (Field::Session, "session", 128),
    (Field::User, "user", 129),
    (Field::Number, "number", 130),
    (Field::Address, "address", 131),
    (Field::Service, "service", 132),
    (Field::Content, "content", 133),
    (Field::Plan, "plan", 134),
    (Field::Granted, "granted", 135),
    (Field::Used, "used", 136),
    (Field::Returned, "returned", 137),
    (Field::Unit, "unit", 138),
    (Field::Validity, "validity", 139),
    (Field::Reason, "reason", 140),
    (Field::Redirect, "redirect", 141),
    (Field::Cause, "cause", 142),
];

impl Role {
    /// What answers a request; none of a response.
    pub fn response(self) -> Option<Role> {
        let at = ROLES.iter().position(|(role, ..)| *role == self)?;
        if at % 2 == 0 { Some(ROLES[at + 1].0) } else { None }
    }

    /// What a message must have; one that has not is dropped and counted.
    pub const fn needs(self) -> &'static [Field] {
        match self {
            Role::UserProfileRequest => &[Field::User],
            Role::UserProfileResponse | Role::ServiceStopResponse => &[Field::Cause],
            Role::QuotaPushResponse | Role::QuotaReturnResponse => &[Field::Cause],
            Role::AuthorizationRequest | Role::ReauthorizationRequest => &[Field::Session, Field::Service],
            Role::ContentAuthorizationRequest => &[Field::Session, Field::Content],
            Role::AuthorizationResponse | Role::ReauthorizationResponse => &[Field::Session, Field::Cause],
            Role::ContentAuthorizationResponse => &[Field::Session, Field::Cause],
            Role::ServiceStopRequest => &[Field::Session, Field::Service, Field::Used],
            Role::QuotaPushRequest => &[Field::User, Field::Service, Field::Granted],
            Role::QuotaReturnRequest => &[Field::Session, Field::Service],
        }
    }
}

/// Why a profile is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileError {
    /// Two roles, or two fields, have this number.
    Twice(u8),
    /// A role has the number of a message that GTP' has.
    Taken(u8),
    /// A field has a number below 128: such elements have no length.
    WithoutLength(u8),
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProfileError::Twice(number) => write!(f, "{number} is given twice"),
            ProfileError::Taken(number) => write!(f, "{number} is a message of GTP' itself"),
            ProfileError::WithoutLength(number) => write!(f, "{number} is below 128: such an element has no length"),
        }
    }
}

impl core::error::Error for ProfileError {}

/// The numbers of messages and elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    roles: Vec<(Role, u8)>,
    fields: Vec<(Field, u8)>,
}

/// The numbers of [`ROLES`] and [`FIELDS`].
impl Default for Profile {
    fn default() -> Self {
        Profile {
            roles: ROLES.iter().map(|(role, _, number)| (*role, *number)).collect(),
            fields: FIELDS.iter().map(|(field, _, number)| (*field, *number)).collect(),
        }
    }
}

impl Profile {
    /// The default with other numbers for some.
    ///
    /// # Errors
    /// A number twice, one of GTP' itself, or one that cannot be of an element with a length.
    pub fn with(roles: &[(Role, u8)], fields: &[(Field, u8)]) -> Result<Profile, ProfileError> {
        let mut profile = Profile::default();
        for (role, number) in &mut profile.roles {
            *number = roles.iter().rev().find(|(r, _)| r == role).map_or(*number, |(_, n)| *n);
        }
        for (field, number) in &mut profile.fields {
            *number = fields.iter().rev().find(|(f, _)| f == field).map_or(*number, |(_, n)| *n);
        }
        profile.check().map(|()| profile)
    }

    fn check(&self) -> Result<(), ProfileError> {
        let mut seen = [false; 256];
        for (_, number) in &self.roles {
            if message_type::name(*number).is_some() {
                return Err(ProfileError::Taken(*number));
            }
            once(&mut seen, *number)?;
        }
        seen = [false; 256];
        for (_, number) in &self.fields {
            if *number < 128 {
                return Err(ProfileError::WithoutLength(*number));
            }
            once(&mut seen, *number)?;
        }
        Ok(())
    }

    /// The number of a message.
    pub fn message(&self, role: Role) -> u8 {
        self.roles.iter().find(|(r, _)| *r == role).map_or(0, |(_, number)| *number)
    }

    /// The number of an element.
    pub fn element(&self, field: Field) -> u8 {
        self.fields.iter().find(|(f, _)| *f == field).map_or(0, |(_, number)| *number)
    }

    /// What a message is for; none if it is one of GTP' itself or of nobody.
    pub fn role(&self, kind: u8) -> Option<Role> {
        self.roles.iter().find(|(_, number)| *number == kind).map(|(role, _)| *role)
    }

    /// Reads a message: its version is 0, its elements can be located, and it has what its role needs.
    ///
    /// # Errors
    /// Another version, a type that the profile has not ([`GtppError::Wrong`] with it), elements that are broken or
    /// missing.
    pub fn read<'p, 'a>(&'p self, message: &Message<'a>) -> Result<QuotaMessage<'p, 'a>, GtppError> {
        if message.header.version.number() != 0 {
            return Err(GtppError::Version(message.header.version.number()));
        }
        let role = self.role(message.header.kind).ok_or(GtppError::Wrong(message.header.kind))?;
        let read = QuotaMessage { role, sequence: message.header.sequence, profile: self, message: *message };
        role.needs().iter().try_for_each(|field| read.need(*field).map(|_| ()))?;
        message.elements().try_for_each(|element| element.map(|_| ()))?;
        Ok(read)
    }

    /// Appends a message of version 0 with the short header.
    ///
    /// # Errors
    /// It does not fit.
    pub fn write(
        &self,
        role: Role,
        sequence: u16,
        values: &[(Field, FieldValue<'_>)],
        out: &mut Vec<u8>,
    ) -> Result<(), TooLong> {
        let header = Header { version: Version::V0, kind: self.message(role), sequence };
        let mut writer = Writer::new(out, &header);
        for (field, value) in values {
            let kind = self.element(*field);
            writer = match value {
                FieldValue::Octets(octets) => writer.element(kind, octets),
                FieldValue::Number(number) => writer.element(kind, shortest(&number.to_be_bytes())),
            };
        }
        writer.finish()
    }
}

/// The octets of a number without the zeros before it, one octet at least.
fn shortest(octets: &[u8; 8]) -> &[u8] {
    let zeros = octets.iter().take(7).take_while(|octet| **octet == 0).count();
    &octets[zeros..]
}

fn once(seen: &mut [bool; 256], number: u8) -> Result<(), ProfileError> {
    let place = &mut seen[usize::from(number)];
    if core::mem::replace(place, true) { Err(ProfileError::Twice(number)) } else { Ok(()) }
}

/// The value of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValue<'a> {
    /// Text, an address, a session.
    Octets(&'a [u8]),
    /// A number, in as few octets as it needs.
    Number(u64),
}

/// A message of a quota server or of its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaMessage<'p, 'a> {
    /// What it is for.
    pub role: Role,
    /// That of the header: a request with the same one is a copy, and gets the same answer.
    pub sequence: u16,
    profile: &'p Profile,
    message: Message<'a>,
}

impl<'a> QuotaMessage<'_, 'a> {
    /// The octets of an element; none if it is not there.
    pub fn octets(&self, field: Field) -> Option<&'a [u8]> {
        let kind = self.profile.element(field);
        self.message.elements().find(kind).ok().flatten().map(|element| element.value)
    }

    /// A number, one to eight octets.
    ///
    /// # Errors
    /// More octets, or none.
    pub fn number(&self, field: Field) -> Result<Option<u64>, GtppError> {
        let Some(octets) = self.octets(field) else { return Ok(None) };
        if octets.is_empty() || octets.len() > 8 {
            return Err(GtppError::Wrong(self.profile.element(field)));
        }
        Ok(Some(octets.iter().fold(0, |number, octet| number << 8 | u64::from(*octet))))
    }

    /// A text.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub fn text(&self, field: Field) -> Result<Option<&'a str>, GtppError> {
        let wrong = |_| GtppError::Wrong(self.profile.element(field));
        self.octets(field).map(|octets| core::str::from_utf8(octets).map_err(wrong)).transpose()
    }

    fn need(&self, field: Field) -> Result<&'a [u8], GtppError> {
        let kind = self.profile.element(field);
        self.message.elements().need(kind).map(|element| element.value)
    }
}

/// `authorization-request 17: session a1 service web`.
impl fmt::Display for QuotaMessage<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = ROLES.iter().find(|(role, ..)| *role == self.role).map_or("", |(_, name, _)| name);
        write!(f, "{name} {}:", self.sequence)?;
        for element in self.message.elements().flatten() {
            let field = self.profile.fields.iter().find(|(_, number)| *number == element.kind).map(|(field, _)| field);
            let name = field.and_then(|field| FIELDS.iter().find(|(f, ..)| f == field)).map(|(_, name, _)| *name);
            match name.or(element::name(element.kind)) {
                Some(name) => write!(f, " {name} {}", element.value.escape_ascii())?,
                None => write!(f, " element {} {}", element.kind, element.value.escape_ascii())?,
            }
        }
        Ok(())
    }
}
