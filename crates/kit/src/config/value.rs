//! Values: what a key takes, how it is read and how it is written.

use super::units::{self, Octets, Share};
use crate::nearest::suggestion;
use std::path::PathBuf;
use std::time::Duration;

/// The longest list that a key takes.
// Limit: values in a list of the configuration
// Beyond: the configuration is refused
// Seen in: the error message
pub const LIST_MAX: usize = 256;

/// A value as it was written, before its key says what it should be.
#[derive(Clone, Debug, PartialEq)]
pub enum Raw {
    /// `true`, `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A text in quotes.
    Text(String),
    /// A list.
    List(Vec<Raw>),
    /// What no key takes: what it is.
    Other(&'static str),
    /// Text without a type: from the environment or the command line. A list is separated by commas.
    Word(String),
}

impl Raw {
    /// What it is, for `expected .., not ..`.
    pub fn describe(&self) -> String {
        match self {
            Raw::Bool(value) => value.to_string(),
            Raw::Integer(value) => format!("the number {value}"),
            Raw::Text(text) | Raw::Word(text) => quoted(&units::short(text)),
            Raw::List(_) => "a list".to_owned(),
            Raw::Other(what) => (*what).to_owned(),
        }
    }

    /// The text of a text or a word.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Raw::Text(text) | Raw::Word(text) => Some(text),
            _ => None,
        }
    }
}

/// A type that a key may have.
pub trait Value: Sized {
    /// What it takes, for people: `a size such as "128 MiB"`.
    fn kind() -> String;
    /// Reads it.
    ///
    /// # Errors
    /// What was expected and what was there.
    fn of(raw: &Raw) -> Result<Self, String>;
    /// As it is written in the file.
    fn text(&self) -> String;
    /// Whether it lies between the limits of its key, both included.
    ///
    /// # Errors
    /// The limits.
    fn within(&self, min: &Self, max: &Self) -> Result<(), String>
    where
        Self: PartialOrd,
    {
        if self >= min && self <= max {
            return Ok(());
        }
        Err(format!("{} is out of range: {} to {}", self.text(), min.text(), max.text()))
    }
}

/// What was expected of a value.
pub fn expected<T: Value>(raw: &Raw) -> String {
    format!("expected {}, not {}", T::kind(), raw.describe())
}

/// A TOML text: with quotes, and escapes where they are needed.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out + "\""
}

impl Value for bool {
    fn kind() -> String {
        "true or false".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Bool(value) => Ok(*value),
            Raw::Word(word) if word == "true" => Ok(true),
            Raw::Word(word) if word == "false" => Ok(false),
            _ => Err(expected::<Self>(raw)),
        }
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

macro_rules! whole_numbers {
    ($($type:ty),+) => {
        $(impl Value for $type {
            fn kind() -> String {
                "a whole number".to_owned()
            }

            fn of(raw: &Raw) -> Result<Self, String> {
                let value = match raw {
                    Raw::Integer(value) => <$type>::try_from(*value).ok(),
                    Raw::Word(word) => word.trim().parse().ok(),
                    _ => return Err(expected::<Self>(raw)),
                };
                value.ok_or_else(|| format!("expected a whole number from 0 to {}, not {}", <$type>::MAX, raw.describe()))
            }

            fn text(&self) -> String {
                self.to_string()
            }
        })+
    };
}

whole_numbers!(u16, u32);

impl Value for String {
    fn kind() -> String {
        "a text".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        raw.as_text().map(str::to_owned).ok_or_else(|| expected::<Self>(raw))
    }

    fn text(&self) -> String {
        quoted(self)
    }
}

impl Value for PathBuf {
    fn kind() -> String {
        "a path".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let text = raw.as_text().ok_or_else(|| expected::<Self>(raw))?;
        if text.is_empty() || text.contains('\0') {
            return Err(expected::<Self>(raw));
        }
        Ok(PathBuf::from(text))
    }

    fn text(&self) -> String {
        quoted(&self.to_string_lossy())
    }
}

impl Value for Duration {
    fn kind() -> String {
        "a time such as \"10 s\", \"500 ms\" or \"30 days\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        units::time(raw.as_text().ok_or_else(|| expected::<Self>(raw))?)
    }

    fn text(&self) -> String {
        quoted(&units::time_text(*self))
    }
}

impl Value for Octets {
    fn kind() -> String {
        "a size such as \"128 MiB\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        units::octets(raw.as_text().ok_or_else(|| expected::<Self>(raw))?).map(Octets)
    }

    fn text(&self) -> String {
        quoted(&self.to_string())
    }
}

impl Value for Share {
    fn kind() -> String {
        "a share such as \"80 %\" or a size such as \"500 GiB\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        units::share(raw.as_text().ok_or_else(|| expected::<Self>(raw))?)
    }

    fn text(&self) -> String {
        quoted(&self.to_string())
    }
}

/// A list: `["eth1", "eth2"]`; a single value is a list of one.
impl<T: Value> Value for Vec<T> {
    fn kind() -> String {
        format!("a list, each of it {}", T::kind())
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let list = match raw {
            Raw::List(list) if list.len() > LIST_MAX => return Err(format!("more than {LIST_MAX} values in a list")),
            Raw::List(list) => list.clone(),
            Raw::Word(words) => {
                words.split(',').map(str::trim).filter(|w| !w.is_empty()).map(|w| Raw::Word(w.to_owned())).collect()
            }
            _ => return T::of(raw).map(|value| vec![value]).map_err(|_| expected::<Self>(raw)),
        };
        list.iter().map(T::of).collect()
    }

    fn text(&self) -> String {
        format!("[{}]", self.iter().map(T::text).collect::<Vec<_>>().join(", "))
    }
}

/// A value that may be left out: `"none"`.
impl<T: Value> Value for Option<T> {
    fn kind() -> String {
        format!("{}, or \"none\"", T::kind())
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        if raw.as_text() == Some("none") {
            return Ok(None);
        }
        T::of(raw).map(Some)
    }

    fn text(&self) -> String {
        self.as_ref().map_or_else(|| quoted("none"), T::text)
    }
}

/// Reads one of several words.
///
/// # Errors
/// The nearest word, or all of them.
#[doc(hidden)]
pub fn choice(raw: &Raw, names: &[&'static str]) -> Result<usize, String> {
    let all = || names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    let text = raw.as_text().ok_or_else(|| format!("expected one of {}, not {}", all(), raw.describe()))?;
    let unknown = || format!("unknown word {}{}", raw.describe(), suggestion(text, names.iter().copied()));
    names.iter().position(|name| *name == text).ok_or_else(unknown)
}

/// Declares an enum whose values are words of the configuration; the first is its default.
///
/// ```
/// use trunkline_kit::config::{Raw, Value};
/// trunkline_kit::choices! {
///     /// How lines are written.
///     pub enum Format {
///         /// For people.
///         Text = "text",
///         /// For programs.
///         Json = "json",
///     }
/// }
/// assert_eq!(Format::of(&Raw::Text("json".to_owned())), Ok(Format::Json));
/// ```
#[macro_export]
macro_rules! choices {
    (
        $(#[doc = $doc:literal])+
        $vis:vis enum $name:ident { $($(#[doc = $help:literal])+ $variant:ident = $word:literal,)+ }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $($(#[doc = $help])+ $variant,)+ }

        impl $name {
            /// All of them, in the order of their declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// Its word in the configuration.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }
        }

        impl $crate::config::Value for $name {
            fn kind() -> String {
                let words = [$(concat!("\"", $word, "\"")),+];
                format!("one of {}", words.join(", "))
            }

            fn of(raw: &$crate::config::Raw) -> Result<Self, String> {
                let at = $crate::config::choice(raw, &[$($word),+])?;
                $name::ALL.get(at).copied().ok_or_else(|| "there is no such word".to_owned())
            }

            fn text(&self) -> String {
                format!("\"{}\"", self.name())
            }
        }
    };
}
