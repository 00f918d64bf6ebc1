//! What a graph takes, computes and draws: its template with fields filled in, for the data sources that it has.

use super::NoPicture;
use crate::inventory::{Fields, Inventory};
use crate::template::{
    Aggregate, Bound, Color, Definition, Function, GraphTemplate, ItemKind, LegendWord, Library, Severity, Side, expand,
};
use std::collections::BTreeMap;

/// Series that a graph takes from files; a graph with more is refused with a word.
// Limit: series that one graph reads from files
// Beyond: the graph is not drawn
// Seen in: the error message
pub const PICTURE_SOURCES_MAX: usize = 800;
/// Names that one expression of an aggregate puts together; more are put together in parts.
const TOGETHER_MAX: usize = 100;

/// A graph, ready to be computed or drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Its title.
    pub title: String,
    /// What stands at its axis.
    pub unit: String,
    /// 1000 or 1024.
    pub base: u32,
    /// The lower end of the axis.
    pub lower: Option<f64>,
    /// The upper end of the axis.
    pub upper: Option<f64>,
    /// Whether the ends hold for what lies beyond them, too.
    pub rigid: bool,
    /// Whether the axis is logarithmic.
    pub logarithmic: bool,
    /// Columns of a picture.
    pub width: u32,
    /// Rows of a picture.
    pub height: u32,
    /// What is taken from files.
    pub taken: Vec<Taken>,
    /// What is computed at each time: names and expressions, each after those that it needs.
    pub computed: Vec<(String, String)>,
    /// What is computed of all times.
    pub values: Vec<(String, String)>,
    /// What is drawn and printed.
    pub items: Vec<Planned>,
    /// Thresholds.
    pub thresholds: Vec<PlannedThreshold>,
    /// What no name of the template holds: names with it are free.
    pub(super) mark: String,
}

/// A series of a file under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The name.
    pub name: String,
    /// The data source; none is one that the graph does not have.
    pub source: Option<u32>,
    /// The series in its file.
    pub series: String,
    /// Of which archives.
    pub function: Function,
}

/// What is drawn or printed, as the template's items say it.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// What it is.
    pub kind: ItemKind,
    /// A name, a number or a time.
    pub value: String,
    /// The colour; none is nothing that is seen.
    pub color: Option<Color>,
    /// The width of a line, or the height of a mark.
    pub width: f64,
    /// Whether it stands on the one before it.
    pub stack: bool,
    /// Lengths of dashes and gaps.
    pub dashes: Vec<u32>,
    /// Its text in the legend.
    pub label: String,
    /// Numbers behind it.
    pub numbers: Vec<LegendWord>,
    /// Of a print: how values become one.
    pub function: Function,
    /// How numbers are written.
    pub format: String,
    /// Whether the legend goes on in a line of its own.
    pub line_end: bool,
}

/// A threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedThreshold {
    /// An expression of numbers.
    pub value: String,
    /// The side that is bad.
    pub side: Side,
    /// How bad.
    pub severity: Severity,
    /// Its text in the legend.
    pub label: String,
}

impl Plan {
    /// Of a graph.
    ///
    /// # Errors
    /// There is no such graph, no template of its name, or it is of too many data sources.
    pub fn new(inventory: &Inventory, library: &Library, graph: u32) -> Result<Plan, NoPicture> {
        let own = inventory.graphs().get(graph).ok_or(NoPicture::Unknown(graph))?;
        let name = inventory.template_name(own.template).unwrap_or_default();
        let template = library.graphs.get(name);
        let template = template.ok_or_else(|| NoPicture::Asked(format!("there is no graph template '{name}'")))?;
        let fields = inventory.fields_of_graph(graph).ok_or(NoPicture::Unknown(graph))?;
        let mut plan = Plan::begin(template, inventory.title(library, graph), &fields);
        let maker = Maker { inventory, template, sources: &own.sources, fields };
        match template.aggregate {
            Aggregate::None => maker.one(&mut plan),
            Aggregate::Stacked | Aggregate::Overlaid => maker.each(&mut plan),
            together => maker.together(&mut plan, together),
        }
        if plan.taken.len() > PICTURE_SOURCES_MAX {
            let many = plan.taken.len();
            return Err(NoPicture::Asked(format!("a picture of {many} series, {PICTURE_SOURCES_MAX} can be")));
        }
        Ok(plan)
    }

    fn begin(template: &GraphTemplate, title: String, fields: &Fields<'_>) -> Plan {
        let bound = |bound: Bound| match bound {
            Bound::None => None,
            Bound::Speed => fields.get("speed").and_then(|speed| speed.parse().ok()),
            Bound::Number(number) => Some(number.0),
        };
        let thresholds = template.thresholds.iter().map(|threshold| PlannedThreshold {
            value: filled(&threshold.value, fields, "", &[]),
            side: threshold.side,
            severity: threshold.severity,
            label: threshold.label.with(|field| fields.get(field)),
        });
        Plan {
            title,
            unit: template.unit.clone(),
            base: template.base,
            lower: bound(template.lower),
            upper: bound(template.upper),
            rigid: template.rigid,
            logarithmic: template.logarithmic,
            width: template.width,
            height: template.height,
            taken: Vec::new(),
            computed: Vec::new(),
            values: Vec::new(),
            items: Vec::new(),
            thresholds: thresholds.collect(),
            mark: mark(template),
        }
    }

    /// The data sources that it takes something of, each once.
    pub fn sources(&self) -> Vec<u32> {
        let mut sources: Vec<u32> = self.taken.iter().filter_map(|taken| taken.source).collect();
        sources.sort_unstable();
        sources.dedup();
        sources
    }
}

/// Dashes, more than any name has beside each other.
fn mark(template: &GraphTemplate) -> String {
    let names = names(template);
    let mut mark = "-".to_owned();
    while names.iter().any(|name| name.contains(&mark)) {
        mark.push('-');
    }
    mark
}

fn names(template: &GraphTemplate) -> Vec<&str> {
    let definitions = template.definitions.iter().map(|definition| definition.name.as_str());
    let expressions = template.computed.iter().chain(&template.values).map(|expression| expression.name.as_str());
    definitions.chain(expressions).collect()
}

/// An expression whose fields are numbers, and whose names have an end. A field that holds no number is unknown.
fn filled(text: &str, fields: &Fields<'_>, end: &str, names: &[&str]) -> String {
    let word = |word: &str| {
        let previous = word.strip_prefix("PREV(").and_then(|rest| rest.strip_suffix(')'));
        let field = word.strip_prefix('|').and_then(|rest| rest.strip_suffix('|'));
        match (field, previous) {
            (Some(field), _) => match fields.get(field).map(str::trim).filter(|text| is_number(text)) {
                Some(number) => number.to_owned(),
                None => "UNKN".to_owned(),
            },
            (None, Some(name)) => format!("PREV({name}{end})"),
            (None, None) if names.contains(&word) => format!("{word}{end}"),
            (None, None) => word.to_owned(),
        }
    };
    let text = text.strip_suffix(',').unwrap_or(text);
    text.split(',').map(|one| word(one.trim())).collect::<Vec<_>>().join(",")
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(f64::is_finite) && text.bytes().all(|b| b.is_ascii_digit() || b".e+-".contains(&b))
}

struct Maker<'i> {
    inventory: &'i Inventory,
    template: &'i GraphTemplate,
    sources: &'i [u32],
    fields: Fields<'i>,
}

impl<'i> Maker<'i> {
    /// Of one device or row.
    fn one(&self, plan: &mut Plan) {
        for definition in &self.template.definitions {
            let source = self.of(definition).next();
            plan.taken.push(taken(definition, "", source));
        }
        self.expressions(plan, "", &self.fields);
        for item in 0..self.template.items.len() {
            plan.items.push(self.item(item, "", &self.fields));
        }
    }

    /// Of all data sources of a template one series: their sum, mean, greatest or least.
    fn together(&self, plan: &mut Plan, how: Aggregate) {
        let mut sums = Vec::new();
        for definition in &self.template.definitions {
            let sources: Vec<u32> = self.of(definition).collect();
            if sources.len() < 2 {
                plan.taken.push(taken(definition, "", sources.first().copied()));
                continue;
            }
            let mut parts = Vec::new();
            for (number, source) in sources.into_iter().enumerate() {
                let part = taken(definition, &format!("{}{}", plan.mark, number + 1), Some(source));
                parts.push(part.name.clone());
                plan.taken.push(part);
            }
            self.join(definition, &parts, how, &plan.mark, &mut sums);
        }
        plan.computed = sums;
        self.expressions(plan, "", &self.fields);
        for item in 0..self.template.items.len() {
            plan.items.push(self.item(item, "", &self.fields));
        }
    }

    /// In parts, so that no expression is longer than rrdtool takes it. Of a mean, sum and count are put together: a
    /// mean of means would be another.
    fn join(
        &self,
        definition: &Definition,
        parts: &[String],
        how: Aggregate,
        mark: &str,
        sums: &mut Vec<(String, String)>,
    ) {
        let name = &definition.name;
        let folded = |parts: &[String], word: &str| {
            let mut text = parts[0].clone();
            parts[1..].iter().for_each(|part| text.push_str(&format!(",{part},{word}")));
            text
        };
        if how != Aggregate::Mean {
            let word = match how {
                Aggregate::Max => "MAXNAN",
                Aggregate::Min => "MINNAN",
                _ => "ADDNAN",
            };
            let mut level = parts.to_vec();
            if level.len() > TOGETHER_MAX {
                for (number, some) in parts.chunks(TOGETHER_MAX).enumerate() {
                    sums.push((format!("{name}{mark}{mark}{number}"), folded(some, word)));
                }
                level = sums.iter().rev().take(parts.len().div_ceil(TOGETHER_MAX)).map(|sum| sum.0.clone()).collect();
            }
            sums.push((name.clone(), folded(&level, word)));
            return;
        }
        let (mut totals, mut counts) = (Vec::new(), Vec::new());
        for (number, some) in parts.chunks(TOGETHER_MAX).enumerate() {
            let known: Vec<String> = some.iter().map(|part| format!("{part},UN,0,1,IF")).collect();
            let (total, count) = (format!("{name}{mark}{mark}t{number}"), format!("{name}{mark}{mark}c{number}"));
            sums.push((total.clone(), folded(some, "ADDNAN")));
            sums.push((count.clone(), folded(&known, "+")));
            totals.push(total);
            counts.push(count);
        }
        sums.push((name.clone(), format!("{},{},/", folded(&totals, "ADDNAN"), folded(&counts, "+"))));
    }

    /// Each device or row by itself, item after item.
    fn each(&self, plan: &mut Plan) {
        let groups = self.groups();
        let end = |number: usize| format!("{}{}", plan.mark, number + 1);
        let ends: Vec<String> = (0..groups.len()).map(end).collect();
        for (group, end) in groups.values().zip(&ends) {
            for definition in &self.template.definitions {
                let source = self.of(definition).find(|source| group.contains(source));
                plan.taken.push(taken(definition, end, source));
            }
            let fields = self.inventory.fields_of_source(group[0]);
            self.expressions(plan, end, fields.as_ref().unwrap_or(&self.fields));
        }
        for item in 0..self.template.items.len() {
            let alone = matches!(self.template.items[item].kind, ItemKind::Comment | ItemKind::Hrule | ItemKind::Vrule);
            for (number, (group, end)) in
                groups.values().zip(&ends).enumerate().take(if alone { 1 } else { usize::MAX })
            {
                let fields = self.inventory.fields_of_source(group[0]);
                let mut planned = self.item(item, end, fields.as_ref().unwrap_or(&self.fields));
                if !alone && groups.len() > 1 {
                    self.tell_apart(&mut planned, number, fields.as_ref());
                }
                plan.items.push(planned);
            }
        }
    }

    /// Of several of the same item each has a name, another colour, and of a stack its place.
    fn tell_apart(&self, planned: &mut Planned, number: usize, fields: Option<&Fields<'_>>) {
        let name = fields.and_then(|fields| fields.get("name").or_else(|| fields.get("device"))).unwrap_or_default();
        planned.label = [planned.label.trim(), name].join(" ").trim().to_owned();
        planned.color = planned.color.map(|color| turned(color, number));
        planned.line_end = true;
        if number > 0 && self.template.aggregate == Aggregate::Stacked {
            planned.stack |= matches!(planned.kind, ItemKind::Line | ItemKind::Area);
        }
    }

    /// The data sources by device and row, in the graph's order.
    fn groups(&self) -> BTreeMap<usize, Vec<u32>> {
        let mut places = BTreeMap::new();
        let mut groups: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for source in self.sources {
            let Some(found) = self.inventory.sources().get(*source) else { continue };
            let next = places.len();
            let place = *places.entry((found.device, found.row)).or_insert(next);
            groups.entry(place).or_default().push(*source);
        }
        groups
    }

    /// The data sources of a definition's template.
    fn of(&self, definition: &'i Definition) -> impl Iterator<Item = u32> {
        let is_it = |source: &u32| {
            let found = self.inventory.sources().get(*source);
            let name = found.and_then(|found| self.inventory.template_name(found.template));
            name == Some(definition.data.as_str())
        };
        self.sources.iter().copied().filter(is_it)
    }

    fn expressions(&self, plan: &mut Plan, end: &str, fields: &Fields<'_>) {
        let names = names(self.template);
        let all = |expressions: &[crate::template::Expression]| -> Vec<(String, String)> {
            let one =
                |e: &crate::template::Expression| (format!("{}{end}", e.name), filled(&e.text, fields, end, &names));
            expressions.iter().map(one).collect()
        };
        plan.computed.extend(all(&self.template.computed));
        plan.values.extend(all(&self.template.values));
    }

    fn item(&self, item: usize, end: &str, fields: &Fields<'_>) -> Planned {
        let item = &self.template.items[item];
        let is_name = names(self.template).contains(&item.value.as_str());
        Planned {
            kind: item.kind,
            value: if is_name { format!("{}{end}", item.value) } else { item.value.clone() },
            color: item.color,
            width: item.width.0,
            stack: item.stack,
            dashes: item.dashes.clone(),
            label: item.legend.label.with(|field| fields.get(field)),
            numbers: item.legend.numbers.clone(),
            function: item.legend.function,
            format: expand(&item.legend.format, |field| fields.get(field)),
            line_end: item.legend.line_end,
        }
    }
}

fn taken(definition: &Definition, end: &str, source: Option<u32>) -> Taken {
    let (name, series) = (format!("{}{end}", definition.name), definition.series.clone());
    Taken { name, source, series, function: definition.function }
}

/// The same colour for the first, then others as bright as it, a golden angle apart on the circle of hues.
fn turned(color: Color, number: usize) -> Color {
    if number == 0 {
        return color;
    }
    let Color([red, green, blue, alpha]) = color;
    let parts = [red, green, blue].map(|part| f64::from(part) / 255.0);
    let (most, least) = (parts.iter().copied().fold(0.0, f64::max), parts.iter().copied().fold(1.0, f64::min));
    let spread = (most - least).max(0.35).min(most.max(0.35));
    let hue = match parts {
        _ if most <= least => 0.0,
        [r, g, b] if most == r => ((g - b) / (most - least)).rem_euclid(6.0),
        [r, g, b] if most == g => (b - r) / (most - least) + 2.0,
        [r, g, _] => (r - g) / (most - least) + 4.0,
    };
    let hue = (hue + 6.0 * 0.381_966 * number as f64).rem_euclid(6.0);
    let top = most.max(spread);
    let part = |shift: f64| {
        let place = (shift + hue).rem_euclid(6.0);
        let value = top - spread * place.min(4.0 - place).clamp(0.0, 1.0);
        (value * 255.0).round() as u8
    };
    Color([part(5.0), part(3.0), part(1.0), alpha])
}
