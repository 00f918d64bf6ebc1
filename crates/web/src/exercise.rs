//! What the fuzz targets drive.

pub use crate::auth::networks::exercise as forwarded;
pub use crate::auth::oidc::exercise::{keys, token};
