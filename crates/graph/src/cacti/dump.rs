//! A dump of mysqldump or mariadb-dump, read piece by piece: rows of INSERT statements with the names of their columns.
//!
//! Gigabytes go through without being kept: at most one row and the head of one statement are. What is no INSERT,
//! REPLACE or CREATE TABLE is passed over. Values are as MySQL writes them (reference manual, "Literal Values"): texts
//! in either quotes with backslashes or doubled quotes, numbers, NULL, hexadecimal and introducers before texts.

use core::fmt;
use std::collections::HashMap;

/// Octets of one row; a longer one is passed over and counted.
// Limit: length of one row of a Cacti dump
// Beyond: the row is passed over
// Seen in: the report of the import
pub const ROW_OCTETS_MAX: usize = 64 << 20;
/// Octets of a statement before its rows, and of a CREATE TABLE.
const HEAD_OCTETS_MAX: usize = 1 << 20;
/// Tables whose columns are known.
const TABLES_MAX: usize = 10_000;

/// A row of a table. Its values are not shown: communities and passwords are among them.
pub struct Statement<'d> {
    /// The table.
    pub table: &'d str,
    /// The names of its columns; empty if the dump does not tell them.
    pub columns: &'d [String],
    /// The values; none is NULL.
    pub values: &'d [Option<Vec<u8>>],
}

/// Reads a dump.
pub struct DumpReader {
    place: Place,
    /// The statement's head, or the row.
    held: Vec<u8>,
    /// Something in `held` did not fit.
    cut: bool,
    quote: Option<u8>,
    escaped: bool,
    comment: Option<Comment>,
    last: u8,
    depth: u32,
    table: String,
    columns: Vec<String>,
    known: HashMap<String, Vec<String>>,
    /// Rows that could not be read, and statements that were too long.
    pub unread: u64,
    /// Rows that were read.
    pub rows: u64,
}

impl fmt::Debug for Statement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Statement { table, columns, values } = self;
        let mut shown = f.debug_struct("Statement");
        shown.field("table", table).field("columns", columns).field("values", &values.len()).finish()
    }
}

impl fmt::Debug for DumpReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DumpReader { table, rows, unread, .. } = self;
        let mut shown = f.debug_struct("DumpReader");
        shown.field("table", table).field("rows", rows).field("unread", unread).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In a statement, before its rows.
    Head,
    /// Between rows.
    Rows,
    /// In a row.
    Row,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comment {
    /// To the end of the line.
    Line,
    /// To a star and a slash.
    Block,
}

impl Default for DumpReader {
    fn default() -> Self {
        DumpReader {
            place: Place::Head,
            held: Vec::new(),
            cut: false,
            quote: None,
            escaped: false,
            comment: None,
            last: b'\n',
            depth: 0,
            table: String::new(),
            columns: Vec::new(),
            known: HashMap::new(),
            unread: 0,
            rows: 0,
        }
    }
}

impl DumpReader {
    /// Reads on; each row that is whole goes to `take`.
    pub fn feed(&mut self, octets: &[u8], mut take: impl FnMut(&Statement<'_>)) {
        for octet in octets {
            self.octet(*octet, &mut take);
            self.last = *octet;
        }
    }

    /// The dump ends here: whether a statement was cut.
    pub fn end(mut self) -> (u64, u64) {
        let open = self.quote.is_some() || matches!(self.place, Place::Row | Place::Rows);
        let head = self.held.iter().any(|octet| !octet.is_ascii_whitespace());
        self.unread += u64::from(open || (self.place == Place::Head && head));
        (self.rows, self.unread)
    }

    fn octet(&mut self, octet: u8, take: &mut impl FnMut(&Statement<'_>)) {
        if let Some(quote) = self.quote {
            self.hold(octet);
            match octet {
                _ if self.escaped => self.escaped = false,
                b'\\' if quote != b'`' => self.escaped = true,
                // A doubled quote ends the text and begins it again: it comes to the same.
                octet if octet == quote => self.quote = None,
                _ => {}
            }
            return;
        }
        if self.in_comment(octet) {
            return;
        }
        match octet {
            b'\'' | b'"' | b'`' => {
                self.quote = Some(octet);
                self.begin(octet);
            }
            b';' => self.end_of_statement(),
            b'(' => self.open(octet),
            b')' => self.close(octet, take),
            _ => self.begin(octet),
        }
    }

    /// Comments stand between words only: within a row a number may have a minus before it.
    fn in_comment(&mut self, octet: u8) -> bool {
        match self.comment {
            Some(Comment::Line) if octet == b'\n' => self.comment = None,
            Some(Comment::Block) if self.last == b'*' && octet == b'/' => {
                self.comment = None;
                // This slash begins nothing.
                self.last = b' ';
                return true;
            }
            Some(_) => return true,
            None => {}
        }
        let begins = match (self.last, octet) {
            (b'-', b'-') | (_, b'#') if self.place != Place::Row => Some(Comment::Line),
            (b'/', b'*') => Some(Comment::Block),
            _ => return false,
        };
        if octet != b'#' {
            self.held.pop();
        }
        self.comment = begins;
        true
    }

    fn begin(&mut self, octet: u8) {
        match self.place {
            Place::Head | Place::Row => self.hold(octet),
            Place::Rows => {}
        }
    }

    fn hold(&mut self, octet: u8) {
        let most = match self.place {
            Place::Head => HEAD_OCTETS_MAX,
            Place::Row => ROW_OCTETS_MAX,
            Place::Rows => return,
        };
        if self.held.len() < most {
            self.held.push(octet);
        } else {
            self.cut = true;
        }
    }

    fn open(&mut self, octet: u8) {
        let begins = self.place == Place::Rows || (self.place == Place::Head && self.at_rows());
        if begins {
            self.place = Place::Row;
            self.depth = 1;
            self.held.clear();
            return;
        }
        self.depth += u32::from(self.place == Place::Row);
        self.begin(octet);
    }

    fn close(&mut self, octet: u8, take: &mut impl FnMut(&Statement<'_>)) {
        if self.place != Place::Row {
            return self.begin(octet);
        }
        self.depth -= 1;
        if self.depth > 0 {
            return self.hold(octet);
        }
        self.place = Place::Rows;
        let values = (!core::mem::take(&mut self.cut)).then(|| values(&self.held)).flatten();
        let fits = |values: &Vec<_>| self.columns.is_empty() || values.len() == self.columns.len();
        match values.filter(fits) {
            Some(values) => {
                self.rows += 1;
                take(&Statement { table: &self.table, columns: &self.columns, values: &values });
            }
            None => self.unread += 1,
        }
        self.held.clear();
    }

    /// Whether the head is that of an INSERT up to its rows; then its table and columns are known.
    fn at_rows(&mut self) -> bool {
        let end = self.held.trim_ascii_end();
        if !ends_with_word(end, b"VALUES") && !ends_with_word(end, b"VALUE") {
            return false;
        }
        let Some(insert) = insert(end) else { return false };
        let listed = insert.columns;
        self.columns =
            if listed.is_empty() { self.known.get(&insert.table).cloned().unwrap_or_default() } else { listed };
        self.table = insert.table;
        true
    }

    fn end_of_statement(&mut self) {
        if self.place == Place::Head {
            let head = core::mem::take(&mut self.held);
            if let Some((table, columns)) = create(&head).filter(|_| self.known.len() < TABLES_MAX) {
                self.known.insert(table, columns);
            }
            self.unread += u64::from(core::mem::take(&mut self.cut));
        } else if self.place == Place::Row {
            self.unread += 1;
        }
        self.held.clear();
        self.cut = false;
        self.place = Place::Head;
    }
}

fn ends_with_word(text: &[u8], word: &[u8]) -> bool {
    text.len() > word.len() && text[text.len() - word.len()..].eq_ignore_ascii_case(word)
}

struct Insert {
    table: String,
    columns: Vec<String>,
}

/// `INSERT [IGNORE] INTO [base.]table [(columns)] VALUES`.
fn insert(head: &[u8]) -> Option<Insert> {
    let mut words = Words(head);
    let first = words.next()?;
    if !first.is(b"INSERT") && !first.is(b"REPLACE") {
        return None;
    }
    let mut word = words.next()?;
    while [&b"IGNORE"[..], b"INTO", b"LOW_PRIORITY", b"DELAYED", b"HIGH_PRIORITY"].iter().any(|name| word.is(name)) {
        word = words.next()?;
    }
    let (table, mut word) = words.table(word)?;
    let mut columns = Vec::new();
    if word.as_ref().is_some_and(|word| word.is(b"(")) {
        loop {
            columns.push(words.next()?.name()?);
            if words.next()?.is(b")") {
                break;
            }
        }
        word = words.next();
    }
    let values = word.is_some_and(|word| word.is(b"VALUES") || word.is(b"VALUE"));
    values.then_some(Insert { table, columns })
}

/// `CREATE TABLE [IF NOT EXISTS] table (column .., ..)`: the table and its columns.
fn create(statement: &[u8]) -> Option<(String, Vec<String>)> {
    let mut words = Words(statement);
    if !words.next()?.is(b"CREATE") || !words.next()?.is(b"TABLE") {
        return None;
    }
    let mut word = words.next()?;
    while [&b"IF"[..], b"NOT", b"EXISTS"].iter().any(|name| word.is(name)) {
        word = words.next()?;
    }
    let (table, next) = words.table(word)?;
    next.filter(|word| word.is(b"("))?;
    let (mut columns, mut depth, mut first) = (Vec::new(), 1, true);
    for word in words {
        if first {
            let keys = [
                &b"PRIMARY"[..],
                b"KEY",
                b"UNIQUE",
                b"INDEX",
                b"FULLTEXT",
                b"SPATIAL",
                b"CONSTRAINT",
                b"FOREIGN",
                b"CHECK",
            ];
            let column = !keys.iter().any(|name| word.is(name));
            columns.extend(word.name().filter(|_| column));
        }
        depth += i32::from(word.is(b"(")) - i32::from(word.is(b")"));
        first = depth == 1 && word.is(b",");
        if depth == 0 {
            break;
        }
    }
    Some((table, columns))
}

/// A word of a statement: a name in backquotes, a text in quotes, a sign, or letters.
struct Word<'w> {
    text: &'w [u8],
    quoted: bool,
}

impl Word<'_> {
    fn is(&self, text: &[u8]) -> bool {
        !self.quoted && self.text.eq_ignore_ascii_case(text)
    }

    fn name(&self) -> Option<String> {
        let sign = !self.quoted && self.text.len() == 1 && b"(),.;=".contains(&self.text[0]);
        (!sign).then(|| String::from_utf8_lossy(self.text).replace("``", "`"))
    }
}

struct Words<'w>(&'w [u8]);

impl<'w> Words<'w> {
    /// A table's name without that of its base, and the word behind it.
    fn table(&mut self, word: Word<'w>) -> Option<(String, Option<Word<'w>>)> {
        let mut name = word.name()?;
        let mut next = self.next();
        while next.as_ref().is_some_and(|word| word.is(b".")) {
            name = self.next()?.name()?;
            next = self.next();
        }
        Some((name, next))
    }
}

impl<'w> Iterator for Words<'w> {
    type Item = Word<'w>;

    fn next(&mut self) -> Option<Word<'w>> {
        let text = self.0.trim_ascii_start();
        let first = *text.first()?;
        if matches!(first, b'`' | b'\'' | b'"') {
            let end = quoted_end(text)?;
            self.0 = &text[end + 1..];
            return Some(Word { text: &text[1..end], quoted: true });
        }
        let inside = |octet: &u8| octet.is_ascii_alphanumeric() || *octet == b'_' || *octet == b'$' || *octet >= 0x80;
        let end = text.iter().position(|octet| !inside(octet)).unwrap_or(text.len()).max(1);
        self.0 = &text[end..];
        Some(Word { text: &text[..end], quoted: false })
    }
}

/// Where a text ends that begins with a quote: at the one that is neither doubled nor behind a backslash.
fn quoted_end(text: &[u8]) -> Option<usize> {
    let quote = *text.first()?;
    let mut at = 1;
    loop {
        match *text.get(at)? {
            b'\\' if quote != b'`' => at += 2,
            octet if octet == quote && text.get(at + 1) == Some(&quote) => at += 2,
            octet if octet == quote => return Some(at),
            _ => at += 1,
        }
    }
}

/// The values of a row.
fn values(row: &[u8]) -> Option<Vec<Option<Vec<u8>>>> {
    let (mut values, mut rest) = (Vec::new(), row.trim_ascii());
    loop {
        let (value, behind) = value(rest)?;
        values.push(value);
        rest = behind.trim_ascii_start();
        match rest.split_first() {
            None => return Some(values),
            Some((b',', behind)) => rest = behind.trim_ascii_start(),
            Some(_) => return None,
        }
    }
}

type Read<'v> = (Option<Vec<u8>>, &'v [u8]);

fn value(text: &[u8]) -> Option<Read<'_>> {
    let first = *text.first()?;
    if matches!(first, b'\'' | b'"') {
        let end = quoted_end(text)?;
        return Some((Some(unescaped(&text[1..end], first)), &text[end + 1..]));
    }
    let inside = |octet: &u8| !matches!(octet, b',' | b'\'' | b'"' | b'(') && !octet.is_ascii_whitespace();
    let end = text.iter().position(|octet| !inside(octet)).unwrap_or(text.len());
    let (word, behind) = text.split_at(end);
    let next = behind.trim_ascii_start();
    let quoted = matches!(next.first(), Some(b'\'' | b'"'));
    if quoted && word.eq_ignore_ascii_case(b"x") {
        let end = quoted_end(next)?;
        return Some((Some(hexadecimal(&next[1..end])?), &next[end + 1..]));
    }
    // An introducer: _binary 'text', _utf8mb4 'text', N'text'.
    if quoted && (word.starts_with(b"_") || word.eq_ignore_ascii_case(b"n")) {
        return value(next);
    }
    if behind.first() == Some(&b'(') {
        return called(text, end);
    }
    if word.is_empty() {
        return None;
    }
    if word.eq_ignore_ascii_case(b"NULL") {
        return Some((None, behind));
    }
    if let Some(digits) = word.strip_prefix(b"0x").or_else(|| word.strip_prefix(b"0X")) {
        return Some((Some(hexadecimal(digits)?), behind));
    }
    Some((Some(word.to_vec()), behind))
}

/// A function's call as it stands there: `now()`.
fn called(text: &[u8], open: usize) -> Option<Read<'_>> {
    let (mut depth, mut at) = (0, open);
    loop {
        match *text.get(at)? {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b'\'' | b'"' => at += quoted_end(&text[at..])?,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some((Some(text[..at].to_vec()), &text[at..]));
        }
    }
}

fn hexadecimal(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |octet: u8| (octet as char).to_digit(16).map(|digit| digit as u8);
    let pairs = digits.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

fn unescaped(text: &[u8], quote: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut octets = text.iter().copied();
    while let Some(octet) = octets.next() {
        match octet {
            b'\\' => out.push(match octets.next() {
                Some(b'0') => 0,
                Some(b'b') => 8,
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b't') => b'\t',
                Some(b'Z') => 26,
                Some(other) => other,
                None => b'\\',
            }),
            octet if octet == quote => {
                // The second one of two.
                octets.next();
                out.push(quote);
            }
            octet => out.push(octet),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(dump: &[u8], pieces: usize) -> (Vec<String>, u64) {
        let (mut reader, mut found) = (DumpReader::default(), Vec::new());
        for piece in dump.chunks(pieces) {
            reader.feed(piece, |row| {
                let value = |value: &Option<Vec<u8>>| match value {
                    Some(octets) => String::from_utf8_lossy(octets).into_owned(),
                    None => "NULL".to_owned(),
                };
                let values: Vec<String> = row.values.iter().map(value).collect();
                found.push(format!("{} {} {}", row.table, row.columns.join(","), values.join("|")));
            });
        }
        (found, reader.end().1)
    }

    const DUMP: &[u8] = b"-- MariaDB dump 10.19; it's a comment (with quotes\n\
        /*!40101 SET NAMES utf8mb4 */;\n\
        DROP TABLE IF EXISTS `host`;\n\
        CREATE TABLE `host` (\n  `id` mediumint(8) unsigned NOT NULL AUTO_INCREMENT,\n\
        \x20 `name` varchar(100) DEFAULT 'a,b (c',\n  note text COMMENT 'it''s; new',\n\
        \x20 PRIMARY KEY (`id`),\n  KEY `name` (`name`)\n\
        ) ENGINE=InnoDB AUTO_INCREMENT=3 DEFAULT CHARSET=utf8mb4;\n\
        LOCK TABLES `host` WRITE;\n/*!40000 ALTER TABLE `host` DISABLE KEYS */;\n\
        INSERT INTO `host` VALUES (1,'a\\'b''c;)(',NULL),\n(-2,\"x\\\"\\n--y\",0x4142);\n\
        insert ignore into cacti.host (id, `note`) values (3, _binary 'n\\0'), (4,X'43');\n\
        INSERT INTO other SELECT * FROM host;\n\
        REPLACE INTO `host` (`id`) VALUE (now(), 5), (6);\n";

    #[test]
    fn reads_what_dumps_hold() {
        for pieces in [1, 2, 3, 7, 4096] {
            let (found, unread) = read(DUMP, pieces);
            assert_eq!(
                found,
                [
                    "host id,name,note 1|a'b'c;)(|NULL",
                    "host id,name,note -2|x\"\n--y|AB",
                    "host id,note 3|n\0",
                    "host id,note 4|C",
                    "host id 6",
                ]
            );
            assert_eq!(unread, 1);
        }
    }

    #[test]
    fn a_cut_dump_is_told() {
        assert_eq!(read(b"INSERT INTO a VALUES (1,'x", 100), (vec![], 1));
        assert_eq!(read(b"INSERT INTO a VALUES (1),", 100), (vec!["a  1".to_owned()], 1));
        assert_eq!(read(b"INSERT INTO a VALUES (1);\n", 100).1, 0);
        assert_eq!(read(b"INSERT INTO a VALUES (1,,2), (0x4), (3);\n", 100), (vec!["a  3".to_owned()], 2));
    }
}
