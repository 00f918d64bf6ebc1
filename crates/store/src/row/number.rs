//! Numbers of a call beside those of From and To.

/// What a number beside those of From and To says about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum NumberRole {
    /// Who calls, as the network says: P-Asserted-Identity, P-Preferred-Identity (RFC 3325), Remote-Party-ID.
    #[default]
    Asserted = 0,
    /// Who is asked for: the Request-URI, where that is not the number of To.
    Requested = 1,
    /// Who was called before the call was diverted: Diversion (RFC 5806), History-Info (RFC 7044).
    DivertedFrom = 2,
}

/// A number of a call beside those of From and To.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct OtherNumber {
    /// What it says about the call.
    pub role: NumberRole,
    /// The number, as [`super::Call::from`].
    pub number: String,
    /// Where it stood, and as it was sent: `P-Asserted-Identity: <tel:+44-20-7946-0114>`.
    pub sent: String,
}
