//! What pages ask: orders of [`crate::answer`], and pictures as files.

use super::super::{Form, NoFile, NotDrawn, Pages, Refused};
use crate::answer::Unanswered;
use crate::picture::Format;
use serde_json::Value;
use trunkline_contract::graph::{Answer, GraphForm};
use trunkline_contract::{Cause, Refusal};

impl From<Unanswered> for Refusal {
    fn from(why: Unanswered) -> Refusal {
        let cause = match &why {
            Unanswered::Unknown(_) => Cause::NotFound,
            Unanswered::Asked(_) => Cause::Wrong,
            Unanswered::Failed(_) => Cause::Unavailable,
            Unanswered::Busy(_) => Cause::Busy,
        };
        Refusal::new(cause, why)
    }
}

pub(super) fn order(pages: &Pages, by: &str, order: &Value) -> Result<Answer, Refusal> {
    pages.order(by, order).map_err(|refused| match refused {
        Refused::Unanswered(why) => Refusal::from(why),
        Refused::Undone(undone) => Refusal::from(undone),
    })?;
    Ok(Answer::Done)
}

pub(super) fn form(form: GraphForm) -> Form {
    match form {
        GraphForm::Png => Form::Drawn(Format::Png),
        GraphForm::Svg => Form::Drawn(Format::Svg),
        GraphForm::Csv => Form::Csv,
    }
}

pub(super) fn no_file(why: NoFile) -> Refusal {
    match why {
        NoFile::Unanswered(why) => Refusal::from(why),
        NoFile::NotDrawn(NotDrawn::Busy) => Refusal::new(Cause::Busy, NotDrawn::Busy),
        // What is missing can be mended: it is not a fault of the program.
        NoFile::NotDrawn(NotDrawn::Missing) => Refusal::new(Cause::Conflict, NotDrawn::Missing),
        NoFile::NotDrawn(why) => Refusal::new(Cause::Unavailable, why),
    }
}
