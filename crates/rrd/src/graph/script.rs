//! Definitions as text, as they stand on rrdtool's command line.

use super::{Definition, Sheet};
use crate::create::duration;
use crate::fault::Fault;
use crate::shape::Consolidation;

impl Sheet {
    /// Reads definitions one after the other.
    ///
    /// # Errors
    /// [`Fault::Asked`] names the definition that was not understood.
    pub fn read<'a>(definitions: impl IntoIterator<Item = &'a str>) -> Result<Sheet, Fault> {
        let mut sheet = Sheet::default();
        definitions.into_iter().try_for_each(|definition| sheet.define(definition))?;
        Ok(sheet)
    }

    /// Adds `DEF:name=file:source:function`, with `:step=`, `:start=`, `:end=` (seconds) and `:reduce=` behind it,
    /// `CDEF:name=expression`, `VDEF:name=line,FUNCTION` or `SHIFT:line:by`. A colon in a file's name stands behind a
    /// `\`.
    ///
    /// # Errors
    /// [`Fault::Asked`]: it is not understood; the text says why.
    pub fn define(&mut self, definition: &str) -> Result<(), Fault> {
        let result = match definition.split_once(':') {
            Some(("DEF", rest)) => read_rows(rest).and_then(|(name, rows)| self.rows(name, rows)),
            Some(("CDEF", rest)) => named(rest).and_then(|(name, text)| self.expression(name, text)),
            Some(("VDEF", rest)) => named(rest).and_then(|(name, text)| self.measure(name, text)),
            Some(("SHIFT", rest)) => match rest.split_once(':') {
                Some((of, by)) => self.shift(of, by),
                None => Err(Fault::asked("it is a line and by how much, with a colon between")),
            },
            _ => Err(Fault::asked("it begins with DEF:, CDEF:, VDEF: or SHIFT:")),
        };
        result.map_err(|fault| Fault::asked(format!("'{definition}': {fault}")))
    }
}

fn named(text: &str) -> Result<(&str, &str), Fault> {
    text.split_once('=').ok_or_else(|| Fault::asked("it is a name, = and what it is"))
}

fn read_rows(text: &str) -> Result<(&str, Definition), Fault> {
    let (name, rest) = named(text)?;
    let parts = split_at_colons(rest);
    let [file, source, function, options @ ..] = parts.as_slice() else {
        return Err(Fault::asked("it is a file, a data source and a function, with colons between"));
    };
    let mut rows = Definition {
        file: file.clone(),
        source: source.clone(),
        consolidation: consolidation(function)?,
        reduce: None,
        start_s: None,
        end_s: None,
        step_s: None,
    };
    options.iter().try_for_each(|option| set(&mut rows, option))?;
    Ok((name, rows))
}

fn set(rows: &mut Definition, option: &str) -> Result<(), Fault> {
    let (key, value) = option.split_once('=').unwrap_or((option, ""));
    let time = || value.parse::<i64>().map_err(|_| Fault::asked(format!("{key}: '{value}' is no time in seconds")));
    match key {
        "step" => rows.step_s = Some(duration(value, 1).map_err(|why| Fault::asked(format!("step: {why}")))?),
        "start" => rows.start_s = Some(time()?),
        "end" => rows.end_s = Some(time()?),
        "reduce" => rows.reduce = Some(consolidation(value)?),
        _ => return Err(Fault::asked(format!("'{option}' is none of step=, start=, end= and reduce="))),
    }
    Ok(())
}

fn consolidation(name: &str) -> Result<Consolidation, Fault> {
    Consolidation::named(name).ok_or_else(|| Fault::asked(format!("there is no function '{name}'")))
}

/// Where no `\` stands before the colon.
fn split_at_colons(text: &str) -> Vec<String> {
    let (mut parts, mut part, mut escaped) = (Vec::new(), String::new(), false);
    for letter in text.chars() {
        match letter {
            ':' if !escaped => parts.push(core::mem::take(&mut part)),
            '\\' if !escaped => {}
            letter => part.push(letter),
        }
        escaped = letter == '\\' && !escaped;
    }
    parts.push(part);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_told_with_their_definition() {
        let told = |definitions: &[&str]| Sheet::read(definitions.iter().copied()).unwrap_err().to_string();
        let def = "DEF:a=x\\:y.rrd:in:AVERAGE";
        assert!(told(&[def, "CDEF:b=a,c,+"]).contains("'CDEF:b=a,c,+': b: place 2: 'c' is neither"));
        assert!(told(&[def, def]).contains("already"));
        assert!(told(&[def, "VDEF:v=a,PERCENT"]).contains("needs a parameter"));
        assert!(told(&[def, "VDEF:v=a,5,MAXIMUM"]).contains("takes no parameter"));
        assert!(told(&[def, "VDEF:v=w,MAXIMUM"]).contains("'w' is no DEF or CDEF"));
        assert!(told(&[def, "SHIFT:a:b"]).contains("neither a number"));
        assert!(told(&["DEF:a=x:in:MEAN"]).contains("no function 'MEAN'"));
        assert!(told(&["LINE1:a"]).contains("begins with DEF:"));
        assert_eq!(split_at_colons("x\\:y:b\\\\:c"), ["x:y", "b\\", "c"]);
    }
}
