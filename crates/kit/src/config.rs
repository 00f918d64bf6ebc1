//! Configuration: sections of typed keys, each described once, where it is declared.
//!
//! From the declaration ([`section!`](crate::section), [`configuration!`](crate::configuration)) come the typed struct
//! that the program uses, the reader that tells every mistake at once ([`read()`]), the commented example
//! ([`example()`]), the manual page ([`markdown`]) and the comparison of two configurations ([`changes()`]).

mod changes;
mod example;
mod file;
mod mistake;
mod names;
mod read;
mod section;
mod sheet;
mod units;
mod value;

pub use changes::{Change, Changes, apply, changes};
pub use example::{example, markdown};
pub use file::raw;
pub use mistake::{Mistake, Place};
pub use read::{Effective, FILE_OCTETS_MAX, Loaded, MISTAKES_MAX, Objection, Origin, Sources, read};
#[doc(hidden)]
pub use section::prose;
pub use section::{Apply, Configuration, Key, Section, is_named, name_of};
pub use sheet::{Sheet, sheet};
pub use units::{Octets, Share, octets, time};
#[doc(hidden)]
pub use value::choice;
pub use value::{LIST_MAX, Raw, Value, quoted};

#[cfg(test)]
mod tests;
