//! Times in lists: the day is said once where it is the same for all.

use super::figure;
use super::text::{Line, Style};
use crate::terminal::Terminal;

/// The day of a list.
pub struct Days {
    /// `2024-05-01 +02:00`; none if the list has several days, or nothing.
    one: Option<String>,
}

impl Days {
    /// That of rows which began at these times.
    pub fn of(starts: impl Iterator<Item = i64>, terminal: &Terminal) -> Self {
        let zone = &terminal.zone;
        let day = |ns: i64| format!("{} {}", figure::date(ns, zone), figure::offset(ns, zone));
        let mut days: Vec<String> = starts.map(day).collect();
        days.dedup();
        Days { one: if days.len() == 1 { days.pop() } else { None } }
    }

    /// `10:00:12`, with its day and offset where the list has several.
    pub fn time(&self, ns: i64, terminal: &Terminal) -> String {
        if self.one.is_some() { figure::clock(ns, &terminal.zone) } else { figure::second(ns, &terminal.zone) }
    }

    /// The line below a list: how many, and the day.
    pub fn below(&self, how_many: String, terminal: &Terminal) -> Line {
        let text = self.one.as_ref().map_or(how_many.clone(), |day| format!("{how_many}, {day}"));
        Line::new(terminal).with(Style::Dim, &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{START, terminal};

    #[test]
    fn one_day_is_said_once() {
        let terminal = terminal(80);
        let days = Days::of([START, START + 1_000_000_000].into_iter(), &terminal);
        assert_eq!(days.time(START, &terminal), "10:00:12");
        assert_eq!(days.below("2 rows".into(), &terminal).text(), "2 rows, 2024-05-01 +02:00");
        let days = Days::of([START, START + 86_400_000_000_000].into_iter(), &terminal);
        assert_eq!(days.time(START, &terminal), "2024-05-01 10:00:12 +02:00");
        assert_eq!(days.below("2 rows".into(), &terminal).text(), "2 rows");
    }
}
