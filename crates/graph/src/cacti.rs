//! What is taken over from an installation of Cacti: its templates out of an XML export, and devices, data sources,
//! graphs and trees out of a dump of its database.
//!
//! ```text
//!  XML export --> xml --> exchange --+                       +--> Library   templates, written as TOML
//!                                    +--> Tables --> convert-+--> Change    the inventory's
//!  mariadb-dump --> DumpReader ------+      ^                +--> RraFile   which file is which data source's
//!                                           |                +--> told      what is not taken over, and why
//!  resource/*.xml of data queries ----------+
//! ```
//!
//! Both ways lead to the same rows of Cacti's own tables, by the names of their columns: the dump has numbers where the
//! export has hashes, and nothing after it sees a difference. Columns that a release does not have are empty; so 0.8.8
//! and 1.2 are read alike. **Nothing is dropped silently**: what has no counterpart here stands in [`Import::told`].

mod convert;
mod dump;
mod exchange;
mod expression;
mod query;
mod tables;
mod xml;

pub use convert::{Import, Options, RraFile, convert};
pub use dump::{DumpReader, ROW_OCTETS_MAX, Statement};
pub use exchange::{Exchange, exchange};
pub use query::Query;
pub use tables::{TABLES_OCTETS_MAX, Tables};
pub use xml::{Element, XML_DEPTH_MAX, XML_OCTETS_MAX, parse};

#[cfg(test)]
mod tests;
