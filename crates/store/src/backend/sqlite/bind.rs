//! Statements that are executed for row after row, and the dictionary of the day.

use crate::columns::Value;
use crate::packed::EndpointOctets;
use hashbrown::HashMap;
use rusqlite::{CachedStatement, Connection, Result};

/// Words remembered for a day that is written; when there are more, all are forgotten and looked up again.
const WORDS_MAX: usize = 8192;

/// An INSERT. What is bound stays bound from one execution to the next: a value that a place has already is not bound
/// again, which of a call is every second one.
pub struct Insert<'c> {
    conn: &'c Connection,
    statement: CachedStatement<'c>,
    bound: Vec<Bound>,
}

/// What is bound at a place.
#[derive(Clone)]
enum Bound {
    Null,
    Whole(i64),
    Real(f64),
    Endpoint(EndpointOctets),
    Word(String, i64),
    /// Octets or a text, not remembered.
    Other,
}

impl<'c> Insert<'c> {
    /// Prepares it.
    pub fn prepare(conn: &'c Connection, sql: &str) -> Result<Self> {
        let statement = conn.prepare_cached(sql)?;
        let bound = vec![Bound::Null; statement.parameter_count()];
        Ok(Insert { conn, statement, bound })
    }

    /// Binds a row to the places from `first` on, counted from 0.
    pub fn bind(&mut self, first: usize, values: &[Value<'_>], words: &mut Words) -> Result<()> {
        let places = self.bound.get_mut(first..).unwrap_or_default().iter_mut().zip(first + 1..);
        for ((bound, place), value) in places.zip(values) {
            match *value {
                Value::Null => {
                    if !matches!(bound, Bound::Null) {
                        self.statement.raw_bind_parameter(place, rusqlite::types::Null)?;
                        *bound = Bound::Null;
                    }
                }
                Value::Whole(value) => {
                    if !matches!(bound, Bound::Whole(b) if *b == value) {
                        self.statement.raw_bind_parameter(place, value)?;
                        *bound = Bound::Whole(value);
                    }
                }
                Value::Real(value) => {
                    if !matches!(bound, Bound::Real(b) if b.to_bits() == value.to_bits()) {
                        self.statement.raw_bind_parameter(place, value)?;
                        *bound = Bound::Real(value);
                    }
                }
                Value::Endpoint(octets) => {
                    if !matches!(bound, Bound::Endpoint(b) if *b == octets) {
                        self.statement.raw_bind_parameter(place, octets.as_slice())?;
                        *bound = Bound::Endpoint(octets);
                    }
                }
                Value::Word(text) => {
                    if !matches!(bound, Bound::Word(b, _) if b == text) {
                        let id = words.id(self.conn, text)?;
                        self.statement.raw_bind_parameter(place, id)?;
                        *bound = Bound::Word(text.to_owned(), id);
                    }
                }
                Value::Text(text) => {
                    self.statement.raw_bind_parameter(place, text)?;
                    *bound = Bound::Other;
                }
                Value::Octets(octets) => {
                    self.statement.raw_bind_parameter(place, octets)?;
                    *bound = Bound::Other;
                }
            }
        }
        Ok(())
    }

    /// The number of the word that is bound to a place, counted from 0; 0 if there is none.
    pub fn word(&self, place: usize) -> i64 {
        if let Some(Bound::Word(_, id)) = self.bound.get(place) { *id } else { 0 }
    }

    /// Executes it; gives the number of rows changed.
    pub fn run(&mut self) -> Result<usize> {
        self.statement.raw_execute()
    }

    /// Binds and executes a statement of one row.
    pub fn row(&mut self, values: &[Value<'_>], words: &mut Words) -> Result<usize> {
        self.bind(0, values, words)?;
        self.run()
    }
}

/// The dictionary of the day.
#[derive(Default)]
pub struct Words {
    ids: HashMap<String, i64>,
}

impl Words {
    /// The number of a word; it is added if it is new.
    fn id(&mut self, conn: &Connection, text: &str) -> Result<i64> {
        if let Some(id) = self.ids.get(text) {
            return Ok(*id);
        }
        let mut insert = conn.prepare_cached("INSERT INTO words (text) VALUES (?) ON CONFLICT (text) DO NOTHING")?;
        insert.execute([text])?;
        let mut select = conn.prepare_cached("SELECT id FROM words WHERE text = ?")?;
        let id = select.query_row([text], |r| r.get(0))?;
        if self.ids.len() >= WORDS_MAX {
            self.ids.clear();
        }
        self.ids.insert(text.to_owned(), id);
        Ok(id)
    }

    /// Forgets them: the transaction that may have added some failed.
    pub fn clear(&mut self) {
        self.ids.clear();
    }
}
