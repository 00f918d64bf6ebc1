//! The tables of a day as SQLite's DDL, made from [`crate::schema`].

use super::{gists, runs, slices};
use crate::schema::{self, Column, Kind, Later, TABLES, Table};
use core::fmt::Write;

/// `application_id` of our files: "TRKL".
pub const APPLICATION_ID: i64 = 0x5452_4b4c;

/// All statements that make an empty day.
pub fn statements() -> String {
    let mut sql = String::from(
        "CREATE TABLE words (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);\n\
         CREATE TABLE streams_elsewhere (id BLOB PRIMARY KEY, day INTEGER NOT NULL) WITHOUT ROWID;\n",
    );
    sql.push_str(runs::TABLE);
    sql.push_str(gists::TABLE);
    sql.push_str(slices::TABLE);
    for table in TABLES {
        create(&mut sql, table);
    }
    sql
}

fn create(sql: &mut String, table: &Table) {
    let columns: Vec<String> = table.columns.iter().map(|c| format!("{} {}", c.name, column_type(c))).collect();
    // Rows of calls lie in the order in which they came, with an index on their key: they come in the order of their
    // end, and laying them in order of start would rewrite all pages of the last minutes again and again.
    let rowid = table.columns.iter().any(|c| c.kind == Kind::Key);
    let (key, tail) = if rowid {
        (String::new(), "")
    } else {
        (format!(", PRIMARY KEY ({})", table.key.join(", ")), " WITHOUT ROWID")
    };
    let _ = writeln!(sql, "CREATE TABLE {} ({}{key}){tail};", table.name, columns.join(", "));
    for (name, columns) in table.indexes {
        let _ = writeln!(sql, "CREATE INDEX {name} ON {} ({});", table.name, columns.join(", "));
    }
}

/// The type of a column, where SQLite needs one. What is bound has the right type already: with declared types SQLite
/// looks at each value of each row again. The views of `trunkline sql` declare them (`sql.rs`).
fn column_type(column: &Column) -> &'static str {
    match column.kind {
        Kind::Key => "INTEGER NOT NULL UNIQUE",
        Kind::Number => "COLLATE NOCASE",
        _ => "",
    }
}

/// The columns of a table as a reader selects them: words as their text.
pub fn select_list(table: &Table) -> String {
    let one = |c: &Column| match c.kind {
        Kind::Word => format!("(SELECT text FROM words WHERE words.id = {}.{})", table.name, c.name),
        _ => format!("{}.{}", table.name, c.name),
    };
    table.columns.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The same of a table without words in a day of this version: columns that it does not have are what they were before
/// they came.
pub fn select_list_of(table: &Table, version: i64) -> String {
    let one = |c: &Column| match later(table, c) {
        Some(later) if version < later.version => format!("{} AS {}", later.before, c.name),
        _ => c.name.to_owned(),
    };
    table.columns.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// With which version a column came, if later than its table.
pub fn later(table: &Table, column: &Column) -> Option<&'static Later> {
    schema::LATER.iter().find(|l| l.table == table.name && l.column == column.name)
}

/// What makes the tables of a day of an older version those of now.
pub fn upgrade(version: i64) -> String {
    let columns = schema::LATER.iter().filter(|l| version < l.version);
    let columns = columns.map(|l| format!("ALTER TABLE {} ADD COLUMN {} DEFAULT {};\n", l.table, l.column, l.before));
    let gists = if version < schema::VERSION_GISTS { gists::TABLE } else { "" };
    let slices = if version < schema::VERSION_SLICES { slices::TABLE } else { "" };
    let mut sql = columns.collect::<String>() + gists + slices;
    TABLES.iter().filter(|table| version < table.since()).for_each(|table| create(&mut sql, table));
    sql
}

/// `INSERT` with a parameter for each column, and what to do about a row that is there.
pub fn insert(verb: &str, table: &Table, conflict: &str) -> String {
    insert_rows(verb, table, 1, conflict)
}

/// `INSERT` of several rows at once.
pub fn insert_rows(verb: &str, table: &Table, rows: usize, conflict: &str) -> String {
    let row = format!("({})", vec!["?"; table.columns.len()].join(", "));
    let rows = vec![row; rows].join(", ");
    format!("{verb} INTO {} ({}) VALUES {rows} {conflict}", table.name, table.names())
}

/// `ON CONFLICT` that replaces the row if what it saw is more: `more` compares `excluded` with the row.
pub fn replace_if(table: &Table, more: &str) -> String {
    let others = table.columns.iter().filter(|c| !table.key.contains(&c.name));
    let sets: Vec<String> = others.map(|c| format!("{0} = excluded.{0}", c.name)).collect();
    format!("ON CONFLICT ({}) DO UPDATE SET {} WHERE {more}", table.key.join(", "), sets.join(", "))
}

#[cfg(test)]
mod tests {
    use crate::{detail, gist, ladder, schema};

    /// A change of the tables needs a new version, or files of yesterday are read wrongly.
    #[test]
    fn the_version_changes_with_the_tables() {
        let hash = super::statements()
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |h, o| (h ^ u64::from(o)).wrapping_mul(0x0000_0100_0000_01b3));
        assert_eq!(
            (schema::VERSION, ladder::VERSION, detail::VERSION, gist::VERSION, hash),
            (7, 2, 2, 1, 10248478641514828547),
            "tables or packed columns changed: raise schema::VERSION, then put the new numbers here"
        );
    }
}
