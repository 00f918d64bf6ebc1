//! What pages of another process ask: questions and answers of [`crate::answer`] in an envelope.
//!
//! ```text
//!   {"do":"ask","question":{..}}  ->  {"answer":{..}}
//!   {"do":"change","by":"USER","order":{..}}  ->  {}
//!   {"do":"picture","graph":7,"form":"png","question":{..}}  ->  {"octets":"BASE64"}
//! ```

use super::super::{Form, NoFile, NotDrawn, Pages, Refused};
use super::Fault;
use crate::answer::Unanswered;
use crate::picture::Format;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

/// What a picture is to be a file of.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FormSaid {
    Png,
    Svg,
    Csv,
}

impl From<Unanswered> for Fault {
    fn from(why: Unanswered) -> Fault {
        let kind = match &why {
            Unanswered::Unknown(_) => "not-found",
            Unanswered::Asked(_) => "bad-request",
            Unanswered::Failed(_) => "unavailable",
            Unanswered::Busy(_) => "busy",
        };
        Fault::new(kind, why)
    }
}

pub(super) fn ask(pages: &Pages, question: &Value) -> Result<Value, Fault> {
    Ok(json!({ "answer": pages.ask(question)? }))
}

pub(super) fn order(pages: &Pages, by: &str, order: &Value) -> Result<Value, Fault> {
    pages.order(by, order).map_err(|refused| match refused {
        Refused::Unanswered(why) => Fault::from(why),
        Refused::Undone(undone) => Fault::from(undone),
    })?;
    Ok(json!({}))
}

pub(super) fn picture(pages: &Pages, graph: u32, form: FormSaid, question: &Value) -> Result<Value, Fault> {
    let form = match form {
        FormSaid::Png => Form::Drawn(Format::Png),
        FormSaid::Svg => Form::Drawn(Format::Svg),
        FormSaid::Csv => Form::Csv,
    };
    let octets = pages.file(graph, form, question).map_err(|why| match why {
        NoFile::Unanswered(why) => Fault::from(why),
        NoFile::NotDrawn(NotDrawn::Busy) => Fault::new("busy", NotDrawn::Busy),
        // What is missing can be mended: it is not a fault of the program.
        NoFile::NotDrawn(NotDrawn::Missing) => Fault::new("conflict", NotDrawn::Missing),
        NoFile::NotDrawn(why) => Fault::new("unavailable", why),
    })?;
    Ok(json!({ "octets": STANDARD.encode(octets) }))
}
