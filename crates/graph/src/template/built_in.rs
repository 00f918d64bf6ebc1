//! Templates that come with the program.

use super::{Library, read};
use std::sync::LazyLock;

/// The files, by name. Behind each object identifier stands its name, which the tests look up in the standards' own
/// modules.
pub const FILES: &[(&str, &str)] = &[
    ("profiles.toml", include_str!("built_in/profiles.toml")),
    ("interfaces.toml", include_str!("built_in/interfaces.toml")),
    ("system.toml", include_str!("built_in/system.toml")),
    ("ports.toml", include_str!("built_in/ports.toml")),
    ("host.toml", include_str!("built_in/host.toml")),
    ("net-snmp.toml", include_str!("built_in/net-snmp.toml")),
    ("sensors.toml", include_str!("built_in/sensors.toml")),
    ("ups.toml", include_str!("built_in/ups.toml")),
    ("bgp.toml", include_str!("built_in/bgp.toml")),
    ("ip.toml", include_str!("built_in/ip.toml")),
    ("cisco.toml", include_str!("built_in/cisco.toml")),
    ("juniper.toml", include_str!("built_in/juniper.toml")),
    ("mikrotik.toml", include_str!("built_in/mikrotik.toml")),
    ("prometheus.toml", include_str!("built_in/prometheus.toml")),
    ("services.toml", include_str!("built_in/services.toml")),
    ("program.toml", include_str!("built_in/program.toml")),
];

/// All of them, read once. A test sees to it that they have no mistake.
pub fn library() -> &'static Library {
    static LIBRARY: LazyLock<Library> = LazyLock::new(|| read(FILES, &Library::default()).unwrap_or_default());
    &LIBRARY
}
