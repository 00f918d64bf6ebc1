//! Graph templates: items with their series, CDEFs and VDEFs.

use super::super::expression::Place;
use super::super::tables::Record;
use super::Converter;
use super::words::fields;
use crate::template::{
    Aggregate, Bound, Color, Definition, Expression, Function, GraphTemplate, ITEMS_MAX, Item, ItemKind, Legend,
    Library, Number, Text, check_computed, check_value,
};
use std::collections::HashMap;

/// Options of a graph that have no counterpart here, if they say anything.
const UNKNOWN_OPTIONS: [(&str, &str); 3] = [
    ("unit_exponent_value", "the exponent of its unit"),
    ("unit_value", "the unit of its axis"),
    ("right_axis", "its right axis"),
];

/// A graph template that is being made.
struct Draft<'t> {
    title: String,
    definitions: Vec<Definition>,
    /// Definitions by series and function.
    defined: HashMap<(&'t str, u8), String>,
    /// Names of definitions in the order of Cacti's letters for them; none is of a series that is not taken over.
    letters: Vec<(&'t str, u8, Option<String>)>,
    computed: Vec<Expression>,
    values: Vec<Expression>,
    items: Vec<Item>,
    axis: [String; 2],
    step: u32,
    /// The fields of the rows that it is of.
    rows: Option<Vec<String>>,
}

impl<'t> Converter<'t> {
    pub(super) fn all_graph_templates(&mut self) {
        let items = self.tables.rows("graph_templates_item").filter(|item| item.is_none("local_graph_id"));
        let mut of_graph: HashMap<&str, Vec<Record<'t>>> = HashMap::new();
        for item in items {
            of_graph.entry(item.text("graph_template_id")).or_default().push(item);
        }
        let own = self.tables.rows("graph_templates_graph").filter(|row| row.is_none("local_graph_id"));
        let own: HashMap<&str, Record<'t>> = own.map(|row| (row.text("graph_template_id"), row)).collect();
        let rows: Vec<Record<'t>> = self.tables.rows("graph_templates").collect();
        for row in rows {
            let mut items = of_graph.remove(row.text("id")).unwrap_or_default();
            items.sort_by_key(|item| item.number::<u32>("sequence"));
            match own.get(row.text("id")) {
                Some(own) => self.graph_template(row, *own, &items),
                None => self.tell(format!("graph template '{}' has no settings", row.text("name"))),
            }
        }
    }

    fn graph_template(&mut self, row: Record<'t>, own: Record<'t>, items: &[Record<'t>]) {
        let title = row.text("name").to_owned();
        let limit = |column| own.number::<f64>(column).filter(|n| n.is_finite());
        let (lower, upper) = (limit("lower_limit"), limit("upper_limit"));
        let axis = [lower, upper].map(|end| end.map_or("UNKN".to_owned(), |end| end.to_string()));
        let mut draft = Draft {
            title: title.clone(),
            definitions: Vec::new(),
            defined: HashMap::new(),
            letters: Vec::new(),
            computed: Vec::new(),
            values: Vec::new(),
            items: Vec::new(),
            axis,
            step: 300,
            rows: None,
        };
        self.define_all(row, items, &mut draft);
        for item in items.iter().take(ITEMS_MAX) {
            self.item(*item, items, &mut draft);
        }
        if items.len() > ITEMS_MAX {
            self.tell(format!("graph template '{title}': items after the first {ITEMS_MAX} are left out"));
        }
        if draft.items.is_empty() || draft.definitions.is_empty() {
            return self.tell(format!("graph template '{title}' shows no series that is taken over"));
        }
        for (column, what) in UNKNOWN_OPTIONS {
            if !own.is_none(column) {
                self.tell(format!("graph templates: {what} has no counterpart"));
            }
        }
        let rigid = own.is_on("auto_scale_rigid");
        let bound = |end: Option<f64>| end.map_or(Bound::None, |end| Bound::Number(Number(end)));
        // What Cacti scales by itself has ends only where they are rigid.
        let (lower, upper) = match (lower, upper) {
            (Some(lower), Some(upper)) if rigid && lower < upper => (bound(Some(lower)), bound(Some(upper))),
            (lower, _) => (bound(lower), Bound::None),
        };
        let logarithmic = own.is_on("auto_scale_log");
        let lower = if logarithmic && matches!(lower, Bound::Number(n) if n.0 <= 0.0) { Bound::None } else { lower };
        let shown = self.text(own.text("title"), &draft);
        let size = |column, usual| own.number(column).filter(|n| (10..=10_000).contains(n)).unwrap_or(usual);
        let template = GraphTemplate {
            title: shown,
            unit: own.text("vertical_label").to_owned(),
            base: if own.text("base_value") == "1024" { 1024 } else { 1000 },
            lower,
            upper,
            rigid,
            logarithmic,
            width: size("width", 500),
            height: size("height", 150),
            aggregate: Aggregate::None,
            definitions: draft.definitions,
            computed: draft.computed,
            values: draft.values,
            items: draft.items,
            thresholds: Vec::new(),
        };
        let name = self.names.unique("graph", &title);
        let graphs = [(name.clone(), template)].into();
        if self.put(&format!("graph template '{title}'"), Library { graphs, ..Library::default() }) {
            self.graphs.insert(row.text("id"), name);
        }
    }

    /// A text with the fields of the rows that the graph is of.
    fn text(&mut self, text: &str, draft: &Draft<'_>) -> Text {
        let mut told = Vec::new();
        let known: Option<Vec<&str>> = draft.rows.as_ref().map(|rows| rows.iter().map(String::as_str).collect());
        let text = Text::parse(&fields(text, known.as_deref(), &mut told));
        for told in told {
            self.tell(format!("graph template '{}': {told}", draft.title));
        }
        text
    }

    /// Definitions of all series that items show.
    fn define_all(&mut self, row: Record<'t>, items: &[Record<'t>], draft: &mut Draft<'t>) {
        for item in items.iter().filter(|item| !item.is_none("task_item_id")) {
            let id = item.text("task_item_id");
            let function = consolidation(*item);
            let lettered = draft.letters.iter().any(|(known, cf, _)| *known == id && *cf == function as u8);
            if !lettered {
                draft.letters.push((id, function as u8, None));
            }
            let Some(series) = self.series.get(id).cloned() else {
                self.tell(format!("graph template '{}' shows a series that is not imported", draft.title));
                continue;
            };
            let graphs = self.tables.rows("snmp_query_graph");
            let graphs: Vec<&str> = graphs
                .filter(|graph| graph.text("graph_template_id") == row.text("id"))
                .map(|graph| graph.text("id"))
                .collect();
            let made = self.data.get(series.template.as_str()).into_iter().flatten();
            let of_graph = made.clone().find(|made| made.query_graphs.iter().any(|g| graphs.contains(&g.as_str())));
            let Some(made) = of_graph.or_else(|| made.clone().next()).cloned() else { continue };
            let Some(data) = self.import.library.data.get(&made.name) else { continue };
            if !data.series.iter().any(|known| known.name == series.name) {
                continue;
            }
            draft.step = self.import.library.step(&made.name).unwrap_or(300);
            if let (None, Some(table)) = (&draft.rows, data.table.clone()) {
                draft.rows = Some(self.row_fields(&table));
            }
            if draft.defined.contains_key(&(id, function as u8)) {
                continue;
            }
            let plain = match function {
                Function::Average => series.name.clone(),
                other => format!("{}_{}", series.name, other.name()),
            };
            let name = free(&plain, &draft.names());
            draft.defined.insert((id, function as u8), name.clone());
            if let Some(letter) = draft.letters.iter_mut().find(|(known, cf, _)| *known == id && *cf == function as u8)
            {
                letter.2 = Some(name.clone());
            }
            draft.definitions.push(Definition { name, data: made.name, series: series.name, function });
        }
    }

    fn item(&mut self, item: Record<'t>, items: &[Record<'t>], draft: &mut Draft<'t>) {
        let Some((kind, function, stack)) = kind(item) else {
            return self.tell(format!("graph items of type {} have no counterpart", item.text("graph_type_id")));
        };
        if item.is_on("shift") {
            self.tell("graph items that are shifted in time have no counterpart".to_owned());
        }
        let mut value = String::new();
        if matches!(kind, ItemKind::Line | ItemKind::Area | ItemKind::Print | ItemKind::Tick) {
            match self.value(item, items, draft, kind == ItemKind::Area || kind == ItemKind::Tick) {
                Ok(name) => value = name,
                Err(what) => return self.tell(format!("graph template '{}': an item: {what}", draft.title)),
            }
        } else if matches!(kind, ItemKind::Hrule | ItemKind::Vrule) {
            let Some(number) = item.number::<f64>("value").filter(|n| n.is_finite()) else {
                return self.tell(format!("graph template '{}': a rule at '{}'", draft.title, item.text("value")));
            };
            value = number.to_string();
        }
        let label = self.text(item.text("text_format"), draft);
        if kind == ItemKind::Comment && label.is_empty() && !item.is_on("hard_return") {
            return;
        }
        let drawn = matches!(kind, ItemKind::Line | ItemKind::Area);
        // What stands on nothing begins at zero.
        let stack = stack && draft.items.iter().any(|item| matches!(item.kind, ItemKind::Line | ItemKind::Area));
        let color = (!matches!(kind, ItemKind::Print | ItemKind::Comment)).then(|| self.color(item)).flatten();
        let width = match kind {
            ItemKind::Line => width(item),
            ItemKind::Tick => item.number("value").filter(|n: &f64| (0.0..=1.0).contains(n)).unwrap_or(0.1),
            _ => 1.0,
        };
        let dashed = matches!(kind, ItemKind::Line | ItemKind::Hrule | ItemKind::Vrule);
        let dashes = item.text("dashes").split(',').filter_map(|n| n.trim().parse().ok()).filter(|_| dashed).collect();
        let function =
            if kind == ItemKind::Print { function.unwrap_or(consolidation(item)) } else { Function::Average };
        let legend = Legend {
            label,
            numbers: Vec::new(),
            function,
            format: if kind == ItemKind::Print { self.format(item) } else { "%8.2lf %s".to_owned() },
            line_end: item.is_on("hard_return"),
        };
        draft.items.push(Item { kind, value, color, width: Number(width), stack: stack && drawn, dashes, legend });
    }

    /// The name of what an item shows: a series, a CDEF of it, or a VDEF of that.
    fn value(
        &mut self,
        item: Record<'t>,
        items: &[Record<'t>],
        draft: &mut Draft<'t>,
        no_value: bool,
    ) -> Result<String, String> {
        let id = item.text("task_item_id");
        let function = consolidation(item);
        let mut name = match draft.defined.get(&(id, function as u8)) {
            Some(name) => name.clone(),
            // A CDEF of all series needs none of its own.
            None if item.is_none("task_item_id") && !item.is_none("cdef_id") => {
                draft.definitions.first().map(|definition| definition.name.clone()).ok_or("it shows no series")?
            }
            None if item.is_none("task_item_id") => return Err("it shows no series".to_owned()),
            None => return Err("its series is not imported".to_owned()),
        };
        if !item.is_none("cdef_id") {
            name = self.computed(item, items, draft, &name)?;
        }
        if !item.is_none("vdef_id") && !no_value {
            let text = self.expressions.value(item.text("vdef_id"), &name)?;
            let names = draft.names();
            check_value(&text, &names.iter().map(String::as_str).collect::<Vec<_>>())?;
            name = put(&mut draft.values, &text, &free(&format!("{name}_v"), &names));
        }
        Ok(name)
    }

    fn computed(
        &mut self,
        item: Record<'t>,
        items: &[Record<'t>],
        draft: &mut Draft<'t>,
        current: &str,
    ) -> Result<String, String> {
        let function = consolidation(item) as u8;
        let mut shown: Vec<&str> = items
            .iter()
            // What is drawn counts, not what is printed.
            .filter(|other| matches!(other.text("graph_type_id"), "4" | "5" | "6" | "7" | "8" | "20"))
            .map(|other| other.text("task_item_id"))
            .collect();
        shown.sort_unstable();
        shown.dedup();
        let name_of = |id: &str| self.series.get(id).map(|series| series.name.clone());
        let own = name_of(item.text("task_item_id"));
        let defined = |id: &&str| {
            let exact = draft.defined.get(&(*id, function)).or_else(|| draft.defined.get(&(*id, 0)));
            exact.cloned()
        };
        let all: Vec<String> = shown.iter().filter_map(defined).collect();
        let same = |id: &&&str| name_of(id) == own;
        let similar: Vec<String> = shown.iter().filter(same).filter_map(defined).collect();
        let limits = self.series.get(item.text("task_item_id")).map(|series| series.limits.clone()).unwrap_or_default();
        let place = Place {
            current,
            all: &all,
            similar: &similar,
            limits: [&limits[0], &limits[1]],
            axis: [&draft.axis[0], &draft.axis[1]],
            step: draft.step,
        };
        let text = self.expressions.computed(item.text("cdef_id"), &place)?;
        let text = lettered(&text, &draft.letters);
        let mut told = Vec::new();
        let known: Option<Vec<&str>> = draft.rows.as_ref().map(|rows| rows.iter().map(String::as_str).collect());
        let text = fields(&text, known.as_deref(), &mut told);
        if let Some(told) = told.into_iter().next() {
            return Err(told);
        }
        let names = draft.names();
        check_computed(&text, &names.iter().map(String::as_str).collect::<Vec<_>>())?;
        Ok(put(&mut draft.computed, &text, &free(&format!("{current}_c"), &names)))
    }

    fn color(&mut self, item: Record<'t>) -> Option<Color> {
        let id = item.text("color_id");
        if item.is_none("color_id") {
            return None;
        }
        let hex = self.colors.get(id).copied().unwrap_or(id);
        let alpha = Some(item.text("alpha")).filter(|alpha| alpha.len() == 2).unwrap_or("FF");
        let color = Color::parse(&format!("{hex}{alpha}"));
        if color.is_none() {
            self.tell(format!("a graph item has the colour '{hex}', which is none"));
        }
        color
    }

    fn format(&mut self, item: Record<'t>) -> String {
        let preset = self.presets.get(item.text("gprint_id")).copied().unwrap_or("%8.2lf %s");
        if crate::template::check_format(preset).is_ok() {
            return preset.to_owned();
        }
        self.tell(format!("the format '{preset}' is not known: it is %8.2lf %s"));
        "%8.2lf %s".to_owned()
    }
}

impl Draft<'_> {
    fn names(&self) -> Vec<String> {
        let definitions = self.definitions.iter().map(|definition| &definition.name);
        definitions.chain(self.computed.iter().chain(&self.values).map(|e| &e.name)).cloned().collect()
    }
}

/// An expression with the names of definitions in the places of Cacti's letters for them: digits of their number, `a`
/// for 0 to `j` for 9.
fn lettered(text: &str, letters: &[(&str, u8, Option<String>)]) -> String {
    let name = |word: &str| {
        let digit = |c: char| ('a'..='j').contains(&c).then(|| c as usize - 'a' as usize);
        let digits: Option<Vec<usize>> = word.chars().map(digit).collect();
        let number = digits.filter(|d| (1..=3).contains(&d.len()))?.into_iter().fold(0, |n, digit| n * 10 + digit);
        letters.get(number)?.2.clone()
    };
    text.split(',').map(|word| name(word).unwrap_or_else(|| word.to_owned())).collect::<Vec<_>>().join(",")
}

/// The name of an expression: that which is there already, else a new one.
fn put(expressions: &mut Vec<Expression>, text: &str, name: &str) -> String {
    if let Some(known) = expressions.iter().find(|known| known.text == text) {
        return known.name.clone();
    }
    expressions.push(Expression { name: name.to_owned(), text: text.to_owned() });
    name.to_owned()
}

/// A name that is not taken and means nothing else in an expression.
fn free(plain: &str, taken: &[String]) -> String {
    let right =
        |name: &String| !taken.contains(name) && !crate::template::is_operator(name) && name.parse::<f64>().is_err();
    let plain = plain.to_owned();
    let mut numbered = (2u32..).map(|number| format!("{plain}_{number}"));
    if right(&plain) { plain } else { numbered.find(right).unwrap_or_default() }
}

fn consolidation(item: Record<'_>) -> Function {
    match item.text("consolidation_function_id") {
        "2" => Function::Min,
        "3" => Function::Max,
        "4" => Function::Last,
        _ => Function::Average,
    }
}

/// The kind of an item (GRAPH_ITEM_TYPE_*), how a print becomes one number, and whether it stands on the one before.
fn kind(item: Record<'_>) -> Option<(ItemKind, Option<Function>, bool)> {
    Some(match item.text("graph_type_id") {
        "1" => (ItemKind::Comment, None, false),
        "2" => (ItemKind::Hrule, None, false),
        "3" => (ItemKind::Vrule, None, false),
        "4" | "5" | "6" => (ItemKind::Line, None, false),
        "7" => (ItemKind::Area, None, false),
        "8" => (ItemKind::Area, None, true),
        "9" => (ItemKind::Print, None, false),
        "11" => (ItemKind::Print, Some(Function::Last), false),
        "12" => (ItemKind::Print, Some(Function::Max), false),
        "13" => (ItemKind::Print, Some(Function::Min), false),
        "14" => (ItemKind::Print, Some(Function::Average), false),
        "20" => (ItemKind::Line, None, true),
        "30" => (ItemKind::Tick, None, false),
        _ => return None,
    })
}

fn width(item: Record<'_>) -> f64 {
    let own = item.number::<f64>("line_width").filter(|width| *width > 0.0 && *width <= 100.0);
    own.unwrap_or(match item.text("graph_type_id") {
        "5" => 2.0,
        "6" => 3.0,
        _ => 1.0,
    })
}
