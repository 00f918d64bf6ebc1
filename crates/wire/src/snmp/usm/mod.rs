//! The user-based security model (RFC 3414) with HMAC-SHA-2 (RFC 7860), AES-128 (RFC 3826) and what the field has made
//! of drafts for longer keys of AES.
//!
//! A password becomes a [`MasterKey`] (a megabyte is hashed: keep it), that becomes [`Keys`] of one engine; with these
//! an [`Outgoing`] message is sealed and a received one opened where it lies. [`EngineTime`] says whether it is timely.

mod authentication;
mod key;
pub(super) mod message;
mod privacy;
mod sealed;
mod timeliness;

pub use authentication::{AuthKey, AuthProtocol};
pub use key::{Keys, MasterKey, PASSWORD_OCTETS_MIN, PasswordError};
pub use message::Parameters;
pub use privacy::{PrivacyKey, PrivacyProtocol};
pub use sealed::{OpenError, Outgoing, Sealed};
pub use timeliness::{BOOTS_MAX, EngineTime, TIME_WINDOW_S, Untimely};

/// `msgSecurityModel` of this model (RFC 3411 section 5).
pub const SECURITY_MODEL: u32 = 3;

/// Octets of an engine's identifier (RFC 3411 section 5, `SnmpEngineID`).
pub const ENGINE_ID_OCTETS_MAX: usize = 32;

/// Octets of a user's name (RFC 3414 section 2.4).
pub const USER_OCTETS_MAX: usize = 32;
