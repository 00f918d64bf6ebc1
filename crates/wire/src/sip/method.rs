//! Methods (RFC 3261 section 7.1 and the extensions that the field uses).

/// A SIP method. The numbers are those of the ladder's rows in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Method {
    /// Any other; its name is in the message.
    #[default]
    Other = 0,
    /// RFC 3261 section 13.
    Invite = 1,
    /// RFC 3261 section 13.
    Ack = 2,
    /// RFC 3261 section 15.
    Bye = 3,
    /// RFC 3261 section 9.
    Cancel = 4,
    /// RFC 3261 section 10.
    Register = 5,
    /// RFC 3261 section 11.
    Options = 6,
    /// RFC 6665.
    Subscribe = 7,
    /// RFC 6665.
    Notify = 8,
    /// RFC 3428.
    Message = 9,
    /// RFC 3903.
    Publish = 10,
    /// RFC 6086.
    Info = 11,
    /// RFC 3311.
    Update = 12,
    /// RFC 3262.
    Prack = 13,
    /// RFC 3515.
    Refer = 14,
}

impl Method {
    /// All methods with a number of their own.
    pub const KNOWN: [Method; 14] = [
        Method::Invite,
        Method::Ack,
        Method::Bye,
        Method::Cancel,
        Method::Register,
        Method::Options,
        Method::Subscribe,
        Method::Notify,
        Method::Message,
        Method::Publish,
        Method::Info,
        Method::Update,
        Method::Prack,
        Method::Refer,
    ];

    /// From its name. Methods are case-sensitive (RFC 3261 section 7.1), so `invite` is another method.
    #[inline]
    pub fn from_name(name: &[u8]) -> Method {
        match name {
            b"INVITE" => Method::Invite,
            b"ACK" => Method::Ack,
            b"BYE" => Method::Bye,
            b"CANCEL" => Method::Cancel,
            b"REGISTER" => Method::Register,
            b"OPTIONS" => Method::Options,
            b"SUBSCRIBE" => Method::Subscribe,
            b"NOTIFY" => Method::Notify,
            b"MESSAGE" => Method::Message,
            b"PUBLISH" => Method::Publish,
            b"INFO" => Method::Info,
            b"UPDATE" => Method::Update,
            b"PRACK" => Method::Prack,
            b"REFER" => Method::Refer,
            _ => Method::Other,
        }
    }

    /// Its name; "other" for [`Method::Other`].
    pub fn name(self) -> &'static str {
        match self {
            Method::Other => "other",
            Method::Invite => "INVITE",
            Method::Ack => "ACK",
            Method::Bye => "BYE",
            Method::Cancel => "CANCEL",
            Method::Register => "REGISTER",
            Method::Options => "OPTIONS",
            Method::Subscribe => "SUBSCRIBE",
            Method::Notify => "NOTIFY",
            Method::Message => "MESSAGE",
            Method::Publish => "PUBLISH",
            Method::Info => "INFO",
            Method::Update => "UPDATE",
            Method::Prack => "PRACK",
            Method::Refer => "REFER",
        }
    }

    /// Its number: 0 for any other, 1 for INVITE, and so on.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_list_and_names_come_back() {
        for (i, method) in Method::KNOWN.iter().enumerate() {
            assert_eq!(usize::from(method.number()), i + 1);
            assert_eq!(Method::from_name(method.name().as_bytes()), *method);
        }
        assert_eq!(Method::from_name(b"invite"), Method::Other);
    }
}
