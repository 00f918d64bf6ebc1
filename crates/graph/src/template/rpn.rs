//! Expressions in reverse Polish notation: whether rrdtool would take them (rrdgraph_rpn, rrdgraph_data).

use trunkline_kit::nearest::suggestion;

/// Words of an expression.
// Limit: words of one expression
// Beyond: the template is refused
// Seen in: the error message
pub const RPN_WORDS_MAX: usize = 512;

/// Operators, how many values they take, and how many they give.
const OPERATORS: &[(&str, usize, usize)] = &[
    ("+", 2, 1),
    ("-", 2, 1),
    ("*", 2, 1),
    ("/", 2, 1),
    ("%", 2, 1),
    ("POW", 2, 1),
    ("ADDNAN", 2, 1),
    ("LT", 2, 1),
    ("LE", 2, 1),
    ("GT", 2, 1),
    ("GE", 2, 1),
    ("EQ", 2, 1),
    ("NE", 2, 1),
    ("UN", 1, 1),
    ("ISINF", 1, 1),
    ("IF", 3, 1),
    ("MIN", 2, 1),
    ("MAX", 2, 1),
    ("MINNAN", 2, 1),
    ("MAXNAN", 2, 1),
    ("LIMIT", 3, 1),
    ("SIN", 1, 1),
    ("COS", 1, 1),
    ("LOG", 1, 1),
    ("EXP", 1, 1),
    ("SQRT", 1, 1),
    ("ATAN", 1, 1),
    ("ATAN2", 2, 1),
    ("FLOOR", 1, 1),
    ("CEIL", 1, 1),
    ("DEG2RAD", 1, 1),
    ("RAD2DEG", 1, 1),
    ("ABS", 1, 1),
    ("UNKN", 0, 1),
    ("INF", 0, 1),
    ("NEGINF", 0, 1),
    ("PREV", 0, 1),
    ("COUNT", 0, 1),
    ("NOW", 0, 1),
    ("TIME", 0, 1),
    ("LTIME", 0, 1),
    ("STEPWIDTH", 0, 1),
    ("NEWDAY", 0, 1),
    ("NEWWEEK", 0, 1),
    ("NEWMONTH", 0, 1),
    ("NEWYEAR", 0, 1),
    ("DUP", 1, 2),
    ("POP", 1, 0),
    ("EXC", 2, 2),
    ("DEPTH", 0, 1),
    ("TREND", 2, 1),
    ("TRENDNAN", 2, 1),
];
/// Operators that take the number of values from the top, then so many; how many they take beside, and whether they
/// give one or as many.
const COUNTED: &[(&str, usize, bool)] = &[
    ("SORT", 0, false),
    ("REV", 0, false),
    ("AVG", 0, true),
    ("SMIN", 0, true),
    ("SMAX", 0, true),
    ("MEDIAN", 0, true),
    ("STDEV", 0, true),
    ("PERCENT", 1, true),
];
/// Operators whose values follow from numbers before them.
const OTHERS: [&str; 6] = ["COPY", "INDEX", "ROLL", "PREDICT", "PREDICTSIGMA", "PREDICTPERC"];
/// Functions of all times.
const VALUE_FUNCTIONS: [&str; 10] =
    ["MAXIMUM", "MINIMUM", "AVERAGE", "STDEV", "LAST", "FIRST", "TOTAL", "LSLSLOPE", "LSLINT", "LSLCORREL"];
const PERCENTILES: [&str; 2] = ["PERCENT", "PERCENTNAN"];

/// Checks an expression that is computed at each time (CDEF); the names of `known` stand for values, fields between
/// bars for numbers. The names that it needs; one at least, if there are any (as rrdtool wants it).
///
/// # Errors
/// What is wrong with it.
pub fn check_computed<'t>(text: &'t str, known: &[&str]) -> Result<Vec<&'t str>, String> {
    // Field: rrdtool takes a comma at the end.
    let words: Vec<&str> = text.strip_suffix(',').unwrap_or(text).split(',').map(str::trim).collect();
    if words.len() > RPN_WORDS_MAX {
        return Err(format!("more than {RPN_WORDS_MAX} words"));
    }
    let mut stack = Stack::default();
    let mut needs = Vec::new();
    for word in words {
        if let Some(name) = stack.word(word, known)? {
            needs.push(name);
        }
    }
    match stack.depth() {
        1 if needs.is_empty() && !known.is_empty() => Err(format!("'{text}' is of no series")),
        1 => Ok(needs),
        depth => Err(format!("'{text}' leaves {depth} values, not one")),
    }
}

/// Checks an expression of all times (VDEF): `NAME,MAXIMUM` or `NAME,95,PERCENT`. The name that it is of.
///
/// # Errors
/// What is wrong with it.
pub fn check_value<'t>(text: &'t str, known: &[&str]) -> Result<&'t str, String> {
    let words: Vec<&str> = text.split(',').map(str::trim).collect();
    let name = match words[..] {
        [name, function] if VALUE_FUNCTIONS.contains(&function) => name,
        [name, number, function] if PERCENTILES.contains(&function) => {
            let percent = number.parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent));
            percent.ok_or_else(|| format!("'{number}' is no percentile from 0 to 100"))?;
            name
        }
        [_, function] => {
            let all = VALUE_FUNCTIONS.into_iter().chain(PERCENTILES);
            return Err(format!("unknown function '{function}'{}", suggestion(function, all)));
        }
        _ => return Err(format!("'{text}': \"NAME,MAXIMUM\" or \"NAME,95,PERCENT\"")),
    };
    known.contains(&name).then_some(name).ok_or_else(|| unknown(name, known))
}

/// Whether a word is an operator: a name of that kind would hide it.
pub fn is_operator(word: &str) -> bool {
    let counted = COUNTED.iter().any(|(name, ..)| *name == word);
    counted || OPERATORS.iter().any(|(name, ..)| *name == word) || OTHERS.contains(&word)
}

fn unknown(name: &str, known: &[&str]) -> String {
    format!("unknown name '{name}'{}", suggestion(name, known.iter().copied()))
}

/// What lies on the stack: numbers that are known, for operators that count by them.
#[derive(Default)]
struct Stack(Vec<Option<usize>>);

impl Stack {
    fn depth(&self) -> usize {
        self.0.len()
    }

    /// Does what a word says; the name that it needs, if it is one.
    fn word<'t>(&mut self, word: &'t str, known: &[&str]) -> Result<Option<&'t str>, String> {
        if word.parse::<f64>().is_ok_and(f64::is_finite) {
            self.0.push(word.parse().ok());
            return Ok(None);
        }
        if is_field(word) {
            self.0.push(None);
            return Ok(None);
        }
        if let Some(name) = known.iter().find(|name| **name == word) {
            self.0.push(None);
            return Ok(Some(&word[..name.len()]));
        }
        if let Some(name) = word.strip_prefix("PREV(").and_then(|rest| rest.strip_suffix(')')) {
            self.0.push(None);
            return if known.contains(&name) { Ok(Some(name)) } else { Err(unknown(name, known)) };
        }
        self.operator(word, known)?;
        Ok(None)
    }

    fn operator(&mut self, word: &str, known: &[&str]) -> Result<(), String> {
        if let Some((_, takes, gives)) = OPERATORS.iter().find(|(name, ..)| *name == word) {
            self.take(word, *takes)?;
            self.0.extend(vec![None; *gives]);
            return Ok(());
        }
        if let Some((_, beside, one)) = COUNTED.iter().find(|(name, ..)| *name == word) {
            let count = self.count(word)?;
            self.take(word, count + beside)?;
            self.0.extend(vec![None; if *one { 1 } else { count }]);
            return Ok(());
        }
        match word {
            "COPY" => {
                let count = self.count(word)?;
                let from = self.depth().checked_sub(count).ok_or_else(|| too_few(word))?;
                self.0.extend_from_within(from..);
            }
            "INDEX" => {
                let place = self.count(word)?;
                if place == 0 || place > self.depth() {
                    return Err(too_few(word));
                }
                self.0.push(self.0[self.depth() - place]);
            }
            "ROLL" => {
                self.take(word, 1)?;
                let count = self.count(word)?;
                self.take(word, count)?;
                self.0.extend(vec![None; count]);
            }
            _ => return self.predicted(word, known),
        }
        Ok(())
    }

    /// PREDICT and its kin: either so many shifts, or one that is repeated (a count less than zero).
    fn predicted(&mut self, word: &str, known: &[&str]) -> Result<(), String> {
        let percent = match word {
            "PREDICT" | "PREDICTSIGMA" => 0,
            "PREDICTPERC" => 1,
            _ => {
                // Operators are written in capitals.
                let operators = OPERATORS.iter().map(|o| o.0).chain(COUNTED.iter().map(|o| o.0)).chain(OTHERS);
                let hint = if word.bytes().any(|b| b.is_ascii_lowercase()) {
                    suggestion(word, known.iter().copied())
                } else {
                    suggestion(word, operators)
                };
                let hint = if hint.starts_with("; there are") { String::new() } else { hint };
                return Err(format!("unknown word '{word}'{hint}"));
            }
        };
        // VALUES.., COUNT, WINDOW, [PERCENTILE,] NAME, PREDICT. Which shifts there are is known when it is computed.
        self.take(word, 2 + percent)?;
        let count = self.0.pop().ok_or_else(|| too_few(word))?.unwrap_or(1);
        self.take(word, count)?;
        self.0.push(None);
        Ok(())
    }

    fn take(&mut self, word: &str, count: usize) -> Result<(), String> {
        let left = self.depth().checked_sub(count).ok_or_else(|| too_few(word))?;
        self.0.truncate(left);
        Ok(())
    }

    /// The number on the top, which must be known.
    fn count(&mut self, word: &str) -> Result<usize, String> {
        let top = self.0.pop().ok_or_else(|| too_few(word))?;
        top.filter(|count| *count <= RPN_WORDS_MAX).ok_or_else(|| format!("before {word} stands a whole number"))
    }
}

fn too_few(word: &str) -> String {
    format!("too few values before {word}")
}

fn is_field(word: &str) -> bool {
    word.len() > 2 && word.starts_with('|') && word.ends_with('|') && !word[1..word.len() - 1].contains('|')
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[&str] = &["a", "b"];

    #[test]
    fn takes_what_rrdtool_takes() {
        for text in [
            "a,8,*",
            "a,b,+,8,*",
            "a,UN,0,a,IF",
            "a,b,c",
            "a,b,2,AVG",
            "a,b,2,SORT,POP",
            "a,DUP,*",
            "a,|speed|,/,100,*",
            "TIME,1700000000,GT,a,UNKN,IF",
            "a,1800,TREND",
            "PREV(a)",
            "a,b,EXC,-",
            "a,b,95,2,PERCENT",
            "a,b,2,COPY,+,-,+",
            "a,2,1,ROLL",
            "86400,-7,1800,a,PREDICT",
            "a,100,300,2,1800,a,PREDICT,-",
            "-1.5e3,a,*",
        ] {
            let known: &[&str] = if text == "a,b,c" { &["a,b,c"] } else { KNOWN };
            let taken = check_computed(text, known);
            match text {
                "a,b,c" | "a,2,1,ROLL" => assert!(taken.is_err(), "{text}"),
                _ => assert!(taken.is_ok(), "{text}: {taken:?}"),
            }
        }
        assert_eq!(check_computed("a,b,+,PREV(b),-", KNOWN), Ok(vec!["a", "b", "b"]));
    }

    #[test]
    fn says_what_is_wrong() {
        let wrong = |text| check_computed(text, KNOWN).unwrap_err();
        assert_eq!(wrong("a,+"), "too few values before +");
        assert_eq!(wrong("a,b"), "'a,b' leaves 2 values, not one");
        assert_eq!(wrong("a,8,MUL"), "unknown word 'MUL'");
        assert_eq!(wrong("a,b,ADDNAM"), "unknown word 'ADDNAM'; did you mean 'ADDNAN'?");
        assert_eq!(wrong("a,b,b,AVG"), "before AVG stands a whole number");
        assert!(wrong("PREV(q)").contains("unknown name 'q'"));
        assert!(wrong("").contains("unknown word ''"));
        assert!(wrong(&"1,".repeat(1000)).contains("more than 512"));
    }

    #[test]
    fn values_of_all_times() {
        assert_eq!(check_value("a,MAXIMUM", KNOWN), Ok("a"));
        assert_eq!(check_value("b,95,PERCENTNAN", KNOWN), Ok("b"));
        assert!(check_value("c,MAXIMUM", KNOWN).unwrap_err().contains("unknown name 'c'"));
        assert!(check_value("a,MAXIMUN", KNOWN).unwrap_err().contains("did you mean 'MAXIMUM'"));
        assert!(check_value("a,101,PERCENT", KNOWN).is_err());
        assert!(check_value("a", KNOWN).is_err());
    }
}
