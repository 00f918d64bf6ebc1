//! Compares answers with the OpenAPI document: each member that is answered is described, each that is described is
//! answered, and types agree.

use crate::client::Answer;
use serde_json::Value;
use std::sync::OnceLock;

/// The document.
pub fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| serde_json::from_str(trunkline_web::api::document_text()).unwrap())
}

/// The path of the document that an address is of, if there is one.
pub fn template(address: &str) -> Option<&'static str> {
    let path = address.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').collect();
    let fits = |template: &str| {
        let wanted: Vec<&str> = template.split('/').collect();
        let rest = wanted.last().is_some_and(|last| last.starts_with("{*"));
        (wanted.len() == parts.len() || (rest && parts.len() >= wanted.len()))
            && wanted.iter().zip(&parts).all(|(wanted, part)| wanted.starts_with('{') || wanted == part)
    };
    let paths = document()["paths"].as_object().unwrap();
    // A path with fewer variables is the one that is meant.
    paths.keys().filter(|t| fits(t)).min_by_key(|t| t.matches('{').count()).map(String::as_str)
}

/// Asserts that an answer is as the document says.
#[track_caller]
pub fn check(method: &str, address: &str, answer: &Answer) {
    let kind = answer.header("content-type");
    if !kind.contains("json")
        || kind == "application/x-ndjson"
        || !answer.header("content-encoding").is_empty()
        || answer.body.is_empty()
    {
        return;
    }
    let body = answer.json();
    if kind == "application/problem+json" {
        compare(&document()["components"]["schemas"]["Problem"], &body, "problem");
        return;
    }
    let Some(template) = template(address) else { return };
    let operation = &document()["paths"][template][method.to_ascii_lowercase()];
    let schema = &operation["responses"][answer.status.to_string()]["content"]["application/json"]["schema"];
    assert!(schema.is_object(), "{method} {template}: {} is not in the document", answer.status);
    compare(schema, &body, &format!("{method} {template}"));
}

/// Asserts that a value is of a schema.
#[track_caller]
pub fn compare(schema: &Value, value: &Value, at: &str) {
    if let Err(why) = fits(schema, value, at) {
        panic!("{why}");
    }
}

fn fits(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        return fits(&document()["components"]["schemas"][name], value, at);
    }
    for several in ["oneOf", "anyOf"] {
        if let Some(all) = schema[several].as_array() {
            let tried: Vec<_> = all.iter().map(|schema| fits(schema, value, at)).collect();
            let why = || tried.iter().filter_map(|t| t.as_ref().err().cloned()).collect::<Vec<_>>().join(" | ");
            return if tried.iter().any(Result::is_ok) { Ok(()) } else { Err(why()) };
        }
    }
    if schema["allOf"].is_array() {
        return fits(&joined(schema), value, at);
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    let is = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_i64() || n.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if !(types.contains(&is) || (is == "integer" && types.contains(&"number"))) {
        return Err(format!("{at}: {value} is not {types:?}"));
    }
    if let Some(names) = schema["enum"].as_array().filter(|names| !names.contains(value) && is != "null") {
        return Err(format!("{at}: {value} is none of {names:?}"));
    }
    match value {
        Value::Array(items) => {
            items.iter().enumerate().try_for_each(|(n, item)| fits(&schema["items"], item, &format!("{at}[{n}]")))
        }
        Value::Object(members) if schema["properties"].is_object() => {
            for (name, member) in members {
                let described = &schema["properties"][name];
                if described.is_null() {
                    return Err(format!("{at}: '{name}' is not described"));
                }
                fits(described, member, &format!("{at}.{name}"))?;
            }
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            match required.into_iter().find(|name| !members.contains_key(*name)) {
                Some(name) => Err(format!("{at}: '{name}' is missing")),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// The members of all parts of an `allOf` as one object.
fn joined(schema: &Value) -> Value {
    let mut properties = serde_json::Map::new();
    let mut required = Vec::new();
    for part in schema["allOf"].as_array().into_iter().flatten() {
        let part = match part["$ref"].as_str() {
            Some(name) => &document()["components"]["schemas"][name.rsplit('/').next().unwrap()],
            None => part,
        };
        let part = if part["allOf"].is_array() { joined(part) } else { part.clone() };
        properties.extend(part["properties"].as_object().cloned().unwrap_or_default());
        required.extend(part["required"].as_array().cloned().unwrap_or_default());
    }
    serde_json::json!({"type": "object", "properties": properties, "required": required})
}
