//! Sections of keys, and the macros that declare them.

use super::value::Raw;

/// When a changed value takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apply {
    /// At once: SIGHUP is enough.
    Running,
    /// At the next start.
    Restart,
}

/// One key of a section, as it is documented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name in the file.
    pub name: String,
    /// What it is, for people: one or more sentences.
    pub help: String,
    /// What it takes: `a size such as "128 MiB"`.
    pub kind: String,
    /// Its default, as it is written in the file.
    pub default: String,
    /// The least and the greatest value, as they are written in the file.
    pub limits: Option<(String, String)>,
    /// When a change takes effect.
    pub apply: Apply,
}

/// A section: what a `[name]` of the file holds. Declared with [`section!`](crate::section).
pub trait Section {
    /// What the section is about, for people.
    fn help(&self) -> String;
    /// Its keys, in the order of their declaration.
    fn keys(&self) -> Vec<Key>;
    /// Sets a key.
    ///
    /// # Errors
    /// What is wrong with the value. The key is left as it was.
    fn set(&mut self, key: &str, raw: &Raw) -> Result<(), String>;
    /// The value of a key as it is written in the file; none if there is no such key.
    fn text(&self, key: &str) -> Option<String>;
}

/// All sections. Declared with [`configuration!`](crate::configuration).
pub trait Configuration: Default {
    /// The sections with their names (`record.sip` for a table inside another), in the order of their declaration.
    fn sections(&self) -> Vec<(&'static str, &dyn Section)>;
    /// The section of that name, to set its keys.
    fn section_mut(&mut self, name: &str) -> Option<&mut dyn Section>;
}

/// The key that a field is: `block_timeout` is `block-timeout`.
pub fn name_of(field: &str) -> String {
    field.replace('_', "-")
}

/// Whether `key` is the name of the field.
pub fn is_named(field: &str, key: &str) -> bool {
    field.len() == key.len()
        && field.bytes().zip(key.bytes()).all(|(f, k)| f == k && f != b'_' || f == b'_' && k == b'-')
}

/// Joins the lines of a documentation comment to one text; an empty line stays a break between paragraphs.
#[doc(hidden)]
pub fn prose(lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines.iter().map(|line| line.trim()) {
        match (line.is_empty(), text.is_empty() || text.ends_with('\n')) {
            (true, _) => text.push_str("\n\n"),
            (false, true) => text.push_str(line),
            (false, false) => {
                text.push(' ');
                text.push_str(line);
            }
        }
    }
    text
}

/// Declares a section: for each field the help, the type (a [`Value`](crate::config::Value)), the default, when a
/// change takes effect, and the limits if there are any. The field `block_timeout` is the key `block-timeout`.
///
/// ```
/// use trunkline_kit::config::{Octets, Section};
/// trunkline_kit::section! {
///     /// Where packets come from.
///     pub struct Capture {
///         /// The ring of each lane.
///         ring: Octets = Octets::mib(128) => Restart, Octets::mib(1) => Octets::gib(8);
///         /// Whether to see what is for others, too.
///         promiscuous: bool = true => Restart;
///     }
/// }
/// assert_eq!(Capture::default().text("ring").as_deref(), Some("\"128 MiB\""));
/// ```
#[macro_export]
macro_rules! section {
    (
        $(#[doc = $doc:literal])+
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $help:literal])+
                $field:ident: $type:ty = $default:expr => $apply:ident $(, $min:expr => $max:expr)?;
            )+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name { $($(#[doc = $help])+ pub $field: $type,)+ }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)+ }
            }
        }

        impl $crate::config::Section for $name {
            fn help(&self) -> String {
                $crate::config::prose(&[$($doc),+])
            }

            fn keys(&self) -> Vec<$crate::config::Key> {
                use $crate::config::{Key, Value, name_of, prose};
                let default = Self::default();
                vec![$({
                    let limits: Option<(String, String)> =
                        None $(.or(Some((<$type as Value>::text(&$min), <$type as Value>::text(&$max)))))?;
                    Key {
                        name: name_of(stringify!($field)),
                        help: prose(&[$($help),+]),
                        kind: <$type as Value>::kind(),
                        default: default.$field.text(),
                        limits,
                        apply: $crate::config::Apply::$apply,
                    }
                },)+]
            }

            fn set(&mut self, key: &str, raw: &$crate::config::Raw) -> Result<(), String> {
                use $crate::config::{Value, is_named};
                $(if is_named(stringify!($field), key) {
                    let value = <$type as Value>::of(raw)?;
                    $(value.within(&$min, &$max)?;)?
                    self.$field = value;
                    return Ok(());
                })+
                Err("there is no such key".to_owned())
            }

            fn text(&self, key: &str) -> Option<String> {
                use $crate::config::{Value, is_named};
                $(if is_named(stringify!($field), key) {
                    return Some(self.$field.text());
                })+
                None
            }
        }
    };
}

/// Declares the configuration: a struct with a field for each section, and the section's name in the file.
///
/// ```
/// trunkline_kit::section! {
///     /// Packets of a class.
///     pub struct Class {
///         /// Whether they are compressed.
///         compress: bool = false => Running;
///     }
/// }
/// trunkline_kit::configuration! {
///     /// Everything.
///     pub struct Settings {
///         /// SIP.
///         sip: Class = "record.sip",
///     }
/// }
/// assert!(!Settings::default().sip.compress);
/// ```
#[macro_export]
macro_rules! configuration {
    (
        $(#[doc = $doc:literal])+
        $vis:vis struct $name:ident { $($(#[doc = $help:literal])+ $field:ident: $type:ty = $section:literal,)+ }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, Default, PartialEq)]
        $vis struct $name { $($(#[doc = $help])+ pub $field: $type,)+ }

        impl $crate::config::Configuration for $name {
            fn sections(&self) -> Vec<(&'static str, &dyn $crate::config::Section)> {
                vec![$(($section, &self.$field),)+]
            }

            fn section_mut(&mut self, name: &str) -> Option<&mut dyn $crate::config::Section> {
                match name {
                    $($section => Some(&mut self.$field),)+
                    _ => None,
                }
            }
        }
    };
}
