//! What the capture did to a call.

/// What the capture itself did to this call.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CaptureLedger {
    /// Whether everything that belongs to the call was seen, as far as it can be told.
    pub complete: bool,
    /// Packets that existed where we listened and that the capture lost: at most, where it only says how many it
    /// dropped in all.
    pub lost_at_tap: u64,
    /// As many of these as are certain.
    pub lost_at_tap_least: u64,
    /// Packets that were lost before they came to where we listened.
    pub lost_before_tap: u64,
    /// Why it is not complete; empty if there is nothing to say.
    pub note: String,
    /// Between which scores the call's is, where packets were lost at the tap.
    pub mos_range: Option<MosRange>,
}

/// A score that what was lost at the tap leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct MosRange {
    /// If what is missing did not come.
    pub low: f32,
    /// If all came that was, or may have been, lost at the tap.
    pub high: f32,
}
