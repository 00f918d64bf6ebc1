//! Graphs in numbers, one or a page of previews at once.

use super::asked::Asked;
use super::{Unanswered, View};
use crate::picture::{Ask, Drawn, NoPicture, Picture, Plan, Print, Rule, Stroke, picture};
use crate::template::{Color, Function, LegendWord, Severity, Side};
use serde_json::{Value, json};

/// Graphs that are asked for at once.
// Limit: graphs of one request
// Beyond: the request is refused
// Seen in: the error message
pub const PICTURES_MAX: usize = 60;

/// The graphs of `ids`, each its numbers or why there are none.
pub(super) fn show(view: &View<'_>, asked: Asked<'_>) -> Result<Value, Unanswered> {
    let ids = asked.ids("ids", PICTURES_MAX)?;
    let ask = ask(asked)?;
    let pictures: Vec<Value> = ids
        .into_iter()
        .map(|id| match one(view, id, &ask) {
            Ok(picture) => json!({ "id": id, "trouble": null, "picture": picture }),
            Err(error) => json!({ "id": id, "trouble": error.to_string(), "picture": null }),
        })
        .collect();
    Ok(json!({ "pictures": pictures }))
}

/// The span, columns and shift of what is asked: `from`, `to` (seconds of Unix), `width`, `shift` (seconds), `function`
/// (`average`, `min`, `max`, `last`).
///
/// # Errors
/// One of them makes no sense.
pub fn ask_of(question: &Value) -> Result<Ask, Unanswered> {
    ask(Asked(question))
}

fn ask(asked: Asked<'_>) -> Result<Ask, Unanswered> {
    let width = asked.maybe_id("width")?.unwrap_or(500);
    let mut ask = Ask::new(asked.whole("from")?, asked.whole("to")?, width)?;
    if let Some(shift_s) = asked.maybe_whole("shift")? {
        ask = ask.shifted(shift_s)?;
    }
    ask.function = match asked.maybe_text("function")? {
        None => None,
        Some("average") => Some(Function::Average),
        Some("min") => Some(Function::Min),
        Some("max") => Some(Function::Max),
        Some("last") => Some(Function::Last),
        Some(other) => {
            return Err(Unanswered::Asked(format!("there is no function '{other}': average, min, max, last")));
        }
    };
    Ok(ask)
}

fn one(view: &View<'_>, id: u32, ask: &Ask) -> Result<Value, Unanswered> {
    if !view.sees_graph(id) {
        return Err(NoPicture::Unknown(id).into());
    }
    let plan = Plan::new(view.inventory, view.library, id)?;
    let seen = picture(&plan, ask, view.now_s, view.files)?;
    Ok(told(&plan, &seen))
}

pub(super) fn told(plan: &Plan, seen: &Picture) -> Value {
    let thresholds = seen.thresholds.iter().map(|(value, side, severity, label)| {
        let side = if *side == Side::Above { "above" } else { "below" };
        let severity = if *severity == Severity::Warning { "warning" } else { "critical" };
        json!({ "value": value, "side": side, "severity": severity, "label": label })
    });
    json!({
        "title": plan.title, "unit": plan.unit, "base": plan.base, "lower": plan.lower, "upper": plan.upper,
        "rigid": plan.rigid, "logarithmic": plan.logarithmic,
        "start": seen.start_s, "step": seen.step_s, "rows": seen.rows,
        "series": seen.drawn.iter().map(series).collect::<Vec<_>>(),
        "rules": seen.rules.iter().map(rule).collect::<Vec<_>>(),
        "thresholds": thresholds.collect::<Vec<_>>(),
        "prints": seen.prints.iter().map(print).collect::<Vec<_>>(),
        "unread": seen.without_file,
    })
}

/// What is unknown is null: JSON has no NaN.
pub(super) fn number(value: f64) -> Value {
    if value.is_finite() { value.into() } else { Value::Null }
}

fn color(color: Option<Color>) -> Value {
    color.map_or(Value::Null, |color| format!("#{color}").into())
}

fn series(drawn: &Drawn) -> Value {
    let kind = match drawn.stroke {
        Stroke::Line => "line",
        Stroke::Area => "area",
        Stroke::Tick => "tick",
    };
    let word = |word: &LegendWord| match word {
        LegendWord::Last => "last",
        LegendWord::Average => "average",
        LegendWord::Min => "min",
        LegendWord::Max => "max",
        LegendWord::P95 => "p95",
        LegendWord::Total => "total",
    };
    let f = &drawn.figures;
    json!({
        "name": drawn.name, "label": drawn.label, "kind": kind, "color": color(drawn.color), "width": drawn.width,
        "stack": drawn.stack, "dashes": drawn.dashes,
        "values": drawn.values.iter().map(|value| number(*value)).collect::<Vec<_>>(),
        "figures": {
            "last": number(f.last), "average": number(f.average), "min": number(f.min), "max": number(f.max),
            "p95": number(f.p95), "total": number(f.total),
        },
        "legend": drawn.legend.iter().map(word).collect::<Vec<_>>(),
    })
}

fn rule(rule: &Rule) -> Value {
    json!({
        "at_time": rule.at_time, "value": number(rule.value), "color": color(rule.color), "dashes": rule.dashes,
        "label": rule.label,
    })
}

fn print(print: &Print) -> Value {
    let value = print.value.map_or(Value::Null, number);
    json!({ "label": print.label, "value": value, "is_number": print.value.is_some(), "format": print.format })
}
