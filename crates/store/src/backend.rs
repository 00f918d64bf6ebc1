//! What keeps rows. A backend is one module that implements [`Backend`] and passes `conformance`.

#[cfg(test)]
mod conformance;
pub mod sqlite;

use crate::error::{Skipped, StoreError};
use crate::removal::{Chosen, Class, DayHeld, Gone};
use crate::rollup::Minute;
use crate::row::{Call, Charge, Loss, Registration, Rows, SipEvent, Stream, StreamInterval};
use crate::search::{Counts, Search};
use crate::store::{Found, OnRow, Page, Query, SqlDone, SqlLimits, Written};
use crate::summary::{Summary, SummaryQuery};
use crate::time::Day;
use trunkline_kit::Id;

/// A place for rows. [`crate::Store`] says what each method means and which errors it may give.
#[allow(missing_docs)] // each is described at the method of the same name of Store
pub trait Backend: Send {
    fn write(&mut self, rows: &Rows) -> Result<(), StoreError>;
    fn commit(&mut self) -> Result<(), StoreError>;
    fn written(&self) -> Written;
    fn skipped(&self) -> Vec<Skipped>;
    fn limit_new_days(&mut self, most: usize);
    fn days(&self) -> Result<Vec<Day>, StoreError>;
    fn drop_day(&mut self, day: Day) -> Result<(), StoreError>;
    fn octets(&self, day: Day) -> u64;
    fn held(&self, day: Day) -> Result<Option<DayHeld>, StoreError>;
    fn remove_classes(&mut self, day: Day, classes: &[Class]) -> Result<Gone, StoreError>;
    fn remove_rows(&mut self, chosen: &Chosen) -> Result<Gone, StoreError>;
    fn chosen_of(&self, number: &str) -> Result<(Chosen, Vec<Skipped>), StoreError>;
    fn add_unknown(&self, rows: &Rows, unknown: &mut Chosen) -> Result<(), StoreError>;
    fn calls(&self, query: &Query) -> Result<Page<Call>, StoreError>;
    fn call(&self, name: &str) -> Result<Found, StoreError>;
    fn call_by_id(&self, id: Id) -> Result<Option<Box<Call>>, StoreError>;
    fn intervals(&self, stream: Id) -> Result<Vec<StreamInterval>, StoreError>;
    fn streams_without_call(&self, query: &Query) -> Result<Page<Stream>, StoreError>;
    fn registrations(&self, query: &Query) -> Result<Page<Registration>, StoreError>;
    fn events(&self, query: &Query) -> Result<Page<SipEvent>, StoreError>;
    fn charges(&self, query: &Query) -> Result<Page<Charge>, StoreError>;
    fn search_registrations(&self, search: &Search) -> Result<Page<Registration>, StoreError>;
    fn count_registrations(&self, search: &Search) -> Result<Counts, StoreError>;
    fn search_events(&self, search: &Search) -> Result<Page<SipEvent>, StoreError>;
    fn count_events(&self, search: &Search) -> Result<Counts, StoreError>;
    fn summary(&self, query: &SummaryQuery) -> Result<Summary, StoreError>;
    fn losses(&self, query: &Query) -> Result<Page<Loss>, StoreError>;
    fn minutes(&self, from_ns: i64, to_ns: i64) -> Result<Vec<(i64, Minute)>, StoreError>;
    fn sql(&self, text: &str, limits: &SqlLimits, on_row: OnRow<'_>) -> Result<SqlDone, StoreError>;
}
