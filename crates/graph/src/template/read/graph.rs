//! Graph templates.

use super::{Keys, Own, Reader};
use crate::template::rpn;
use crate::template::settings::{GraphSection, ItemSection, ThresholdSection};
use crate::template::{
    Aggregate, Bound, Definition, Expression, Function, GraphTemplate, ITEMS_MAX, Item, ItemKind, Legend, Text,
    Threshold,
};
use trunkline_kit::config::{Raw, Value};

const INNER: [&str; 5] = ["series", "cdef", "vdef", "item", "threshold"];

/// The names that items may use.
struct Scope<'n> {
    /// Definitions and what is computed of them.
    series: Vec<&'n str>,
    values: Vec<&'n str>,
    table: Option<String>,
}

impl Reader<'_, '_, '_> {
    pub(super) fn graph_template(&mut self, own: &Own<'_>) -> GraphTemplate {
        let mut section = GraphSection::default();
        let keys = self.section(own, &INNER, &mut section);
        let definitions = self.definitions(own);
        let table = self.table_of(&definitions, own);
        let computed = self.computed(own, &definitions, table.as_deref());
        let series = definitions.iter().map(|d| d.name.as_str()).chain(computed.iter().map(|c| c.name.as_str()));
        let mut scope = Scope { series: series.collect(), values: Vec::new(), table };
        let values = self.values(own, &scope);
        scope.values = values.iter().map(|value| value.name.as_str()).collect();
        let items = self.items(own, &scope, section.aggregate);
        let thresholds = self.thresholds(own, &scope);
        let title = self.text(&section.title, scope.table.as_deref(), keys.at("title"));
        self.axis(&section, &keys);
        GraphTemplate {
            title,
            unit: section.unit,
            base: section.base,
            lower: section.lower,
            upper: section.upper,
            rigid: section.rigid,
            logarithmic: section.logarithmic,
            width: section.width,
            height: section.height,
            aggregate: section.aggregate,
            definitions,
            computed,
            values,
            items,
            thresholds,
        }
    }

    fn axis(&mut self, section: &GraphSection, keys: &Keys) {
        if ![1000, 1024].contains(&section.base) {
            self.sheet.wrong(keys.at("base"), "base is 1000 or 1024".to_owned());
        }
        if let (Bound::Number(lower), Bound::Number(upper)) = (section.lower, section.upper)
            && lower >= upper
        {
            self.sheet.wrong(keys.at("upper"), format!("upper {upper} is not above lower {lower}"));
        }
        if section.logarithmic && matches!(section.lower, Bound::Number(lower) if lower.0 <= 0.0) {
            self.sheet.wrong(keys.at("lower"), "a logarithmic axis begins above zero".to_owned());
        }
    }

    /// `name = "data.series function"`.
    fn definitions(&mut self, own: &Own<'_>) -> Vec<Definition> {
        let mut definitions = Vec::new();
        for (name, at, text) in self.named_texts(own, "series") {
            let (place, function) = match text.trim().rsplit_once(' ') {
                Some((place, word)) => (place.trim(), self.function(word, at)),
                None => (text.trim(), Function::Average),
            };
            let Some((data, series)) = place.rsplit_once('.') else {
                self.sheet.wrong(at, format!("'{text}': \"DATA-TEMPLATE.SERIES\" or \"DATA-TEMPLATE.SERIES max\""));
                continue;
            };
            let known = self.known("data template", data, self.names.data(), at);
            if known {
                self.known("series", series, self.names.series(data), at);
            }
            definitions.push(Definition { name, data: data.to_owned(), series: series.to_owned(), function });
        }
        definitions
    }

    fn function(&mut self, word: &str, at: usize) -> Function {
        Function::of(&Raw::Text(word.to_owned())).unwrap_or_else(|what| {
            self.sheet.wrong(at, what);
            Function::Average
        })
    }

    /// The one table whose rows the graph is of.
    fn table_of(&mut self, definitions: &[Definition], own: &Own<'_>) -> Option<String> {
        let mut tables: Vec<&str> = definitions.iter().filter_map(|d| self.names.table_of(&d.data)).collect();
        tables.sort_unstable();
        tables.dedup();
        if let [first, second, ..] = tables[..] {
            self.sheet.wrong(own.at, format!("[{}] is of rows of '{first}' and of '{second}'", own.section));
        }
        tables.first().map(|table| (*table).to_owned())
    }

    /// `name = "RPN"`, in an order in which each stands behind what it needs.
    fn computed(&mut self, own: &Own<'_>, definitions: &[Definition], table: Option<&str>) -> Vec<Expression> {
        let texts = self.named_texts(own, "cdef");
        let names: Vec<&str> = texts.iter().map(|(name, ..)| name.as_str()).collect();
        let known: Vec<&str> = definitions.iter().map(|d| d.name.as_str()).chain(names.iter().copied()).collect();
        let (mut waiting, mut ordered) = (Vec::new(), Vec::<Expression>::new());
        for (name, at, text) in &texts {
            if definitions.iter().any(|definition| definition.name == *name) {
                self.sheet.wrong(*at, format!("a series '{name}' exists already"));
            }
            self.fields_of(&Text::parse(text), table, *at);
            match rpn::check_computed(text, &known) {
                Ok(needs) => {
                    let needs: Vec<&str> = needs.into_iter().filter(|need| names.contains(need)).collect();
                    waiting.push((name, *at, text, needs));
                }
                Err(what) => {
                    self.sheet.wrong(*at, format!("{name}: {what}"));
                    // What is told once is not told again of those that need it.
                    ordered.push(Expression { name: name.clone(), text: text.clone() });
                }
            }
        }
        while !waiting.is_empty() {
            let ready = waiting.iter().position(|(_, _, _, needs)| {
                needs.iter().all(|need| ordered.iter().any(|before| before.name == **need))
            });
            let Some(ready) = ready else {
                for (name, at, ..) in &waiting {
                    self.sheet.wrong(*at, format!("{name}: it needs itself, or what needs itself"));
                }
                break;
            };
            let (name, _, text, _) = waiting.remove(ready);
            ordered.push(Expression { name: name.clone(), text: text.clone() });
        }
        ordered
    }

    fn values(&mut self, own: &Own<'_>, scope: &Scope<'_>) -> Vec<Expression> {
        let mut values = Vec::new();
        for (name, at, text) in self.named_texts(own, "vdef") {
            if scope.series.contains(&name.as_str()) {
                self.sheet.wrong(at, format!("'{name}' exists already"));
            }
            if let Err(what) = rpn::check_value(&text, &scope.series) {
                self.sheet.wrong(at, format!("{name}: {what}"));
            }
            values.push(Expression { name, text });
        }
        values
    }

    fn items(&mut self, own: &Own<'_>, scope: &Scope<'_>, aggregate: Aggregate) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::new();
        let tables = self.tables(own, "item");
        if tables.len() > ITEMS_MAX {
            self.sheet.wrong(own.at, format!("more than {ITEMS_MAX} items"));
        }
        if tables.is_empty() {
            self.sheet.wrong(own.at, format!("[{0}] needs items: [[{0}.item]]", own.section));
        }
        for inner in tables {
            let mut section = ItemSection::default();
            let keys = self.section(&inner, &[], &mut section);
            self.value_of(&section, scope, &keys);
            let drawn = |item: &Item| matches!(item.kind, ItemKind::Line | ItemKind::Area);
            if section.stack && aggregate == Aggregate::None && !items.iter().any(drawn) {
                self.sheet.wrong(keys.at("stack"), "there is nothing before it to stand on".to_owned());
            }
            let label = self.text(&section.label, scope.table.as_deref(), keys.at("label"));
            let ItemSection {
                kind,
                value,
                color,
                width,
                stack,
                dashes,
                legend: numbers,
                function,
                format,
                line_end,
                ..
            } = section;
            let legend = Legend { label, numbers, function, format, line_end };
            items.push(Item { kind, value, color, width, stack, dashes, legend });
        }
        items
    }

    /// What an item is of, and keys that it has not.
    fn value_of(&mut self, section: &ItemSection, scope: &Scope<'_>, keys: &Keys) {
        let (kind, value, at) = (section.kind, section.value.as_str(), keys.at("value"));
        let all = scope.series.iter().chain(&scope.values).copied();
        match kind {
            ItemKind::Line | ItemKind::Print => drop(self.known("name", value, all, at)),
            ItemKind::Area | ItemKind::Tick => drop(self.known("name", value, scope.series.iter().copied(), at)),
            ItemKind::Hrule | ItemKind::Vrule if value.parse::<f64>().is_err() => {
                self.known("number or value", value, scope.values.iter().copied(), at);
            }
            ItemKind::Hrule | ItemKind::Vrule => {}
            ItemKind::Comment => {
                if keys.has("value") {
                    self.sheet.wrong(at, "a comment has a label alone".to_owned());
                }
            }
        }
        let drawn = matches!(kind, ItemKind::Line | ItemKind::Area);
        for (key, may) in [
            ("stack", drawn),
            ("legend", drawn),
            ("color", !matches!(kind, ItemKind::Print | ItemKind::Comment)),
            ("width", matches!(kind, ItemKind::Line | ItemKind::Tick)),
            ("dashes", matches!(kind, ItemKind::Line | ItemKind::Hrule | ItemKind::Vrule)),
            ("function", kind == ItemKind::Print),
        ] {
            if keys.has(key) && !may {
                self.sheet.wrong(keys.at(key), format!("\"{}\" has no '{key}'", kind.name()));
            }
        }
        if let Err(what) = check_format(&section.format) {
            self.sheet.wrong(keys.at("format"), what);
        }
    }

    fn thresholds(&mut self, own: &Own<'_>, scope: &Scope<'_>) -> Vec<Threshold> {
        let mut thresholds = Vec::new();
        for inner in self.tables(own, "threshold") {
            let mut section = ThresholdSection::default();
            let keys = self.section(&inner, &[], &mut section);
            self.fields_of(&Text::parse(&section.value), scope.table.as_deref(), keys.at("value"));
            if let Err(what) = rpn::check_computed(&section.value, &[]) {
                self.sheet.wrong(keys.at("value"), what);
            }
            let label = self.text(&section.label, scope.table.as_deref(), keys.at("label"));
            let ThresholdSection { value, side, severity, .. } = section;
            thresholds.push(Threshold { value, side, severity, label });
        }
        if thresholds.len() > ITEMS_MAX {
            self.sheet.wrong(own.at, format!("more than {ITEMS_MAX} thresholds"));
        }
        thresholds
    }

    /// Texts by name, in a section of their own, in the order of the file.
    fn named_texts(&mut self, own: &Own<'_>, section: &str) -> Vec<(String, usize, String)> {
        let Some((at, table)) = self.table(own.table, section, &own.section) else { return Vec::new() };
        if table.len() > ITEMS_MAX {
            self.sheet.wrong(at, format!("more than {ITEMS_MAX} of [{}.{section}]", own.section));
        }
        let mut texts = Vec::new();
        for (key, value) in table {
            self.definition_name(key.get_ref(), key.span().start);
            match value.get_ref().as_str() {
                Some(text) => texts.push((key.get_ref().to_string(), value.span().start, text.to_owned())),
                None => self.sheet.wrong(value.span().start, "expected a text".to_owned()),
            }
        }
        texts.sort_by_key(|(_, at, _)| *at);
        texts
    }

    /// A name that an expression can hold, and that no operator has.
    fn definition_name(&mut self, name: &str, at: usize) {
        self.name_of(name, at);
        if name.parse::<f64>().is_ok() || rpn::is_operator(name) {
            self.sheet.wrong(at, format!("'{name}' means something else in an expression: name it otherwise"));
        }
    }
}

/// How a number is written (GPRINT of rrdtool): text with `%%`, one `%lf`, `%le` or `%lg` with its width, `%s` or `%S`.
///
/// # Errors
/// It is none.
pub fn check_format(format: &str) -> Result<(), String> {
    let wrong = || format!("'{format}' is no format such as \"%8.2lf %s\"");
    let (mut numbers, mut rest) = (0, format);
    while let Some(at) = rest.find('%') {
        rest = &rest[at + 1..];
        let shape = rest.trim_start_matches(|c: char| c.is_ascii_digit() || ".-+ 0#".contains(c));
        let known = ["lf", "le", "lg", "lF", "lE", "lG"].iter().find_map(|end| shape.strip_prefix(end));
        match known {
            Some(behind) => {
                numbers += 1;
                rest = behind;
            }
            None => rest = rest.strip_prefix(['%', 's', 'S']).ok_or_else(wrong)?,
        }
    }
    if numbers == 1 { Ok(()) } else { Err(wrong()) }
}
