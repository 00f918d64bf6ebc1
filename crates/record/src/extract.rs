//! What has to be read of a segment to find the packets of a query: as little as its index allows, never too little.

use crate::index::{IndexError, PAGE_OCTETS, ReadAt, SPAN_PAGES, Span, View};
use crate::query::{Query, may_match_flow, may_match_sets};
use crate::segment::Region;

/// Pages between two wanted ones that are read along rather than passed over.
const GAP_PAGES: u32 = 2;

/// What to read of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Nothing in it can match.
    Nothing,
    /// These regions, ascending.
    Regions(Vec<Region>),
    /// All of it, from the beginning.
    Whole,
}

impl Plan {
    /// Octets that it reads, of a file of this length.
    pub fn octets(&self, file_octets: u64) -> u64 {
        match self {
            Plan::Nothing => 0,
            Plan::Regions(regions) => regions.iter().map(|r| r.until.min(file_octets).saturating_sub(r.from)).sum(),
            Plan::Whole => file_octets,
        }
    }
}

/// Plans reading the packets of a query that were captured in `span`.
///
/// # Errors
/// The index is damaged.
pub fn plan<R: ReadAt>(view: &View<R>, query: &Query, span: &Span) -> Result<Plan, IndexError> {
    let facts = view.facts();
    if !facts.span.meets(span) || !may_match_sets(query, view.sets(), &facts) {
        return Ok(Plan::Nothing);
    }
    let spans = view.spans()?;
    let due = |page: u32| spans.get(page as usize / SPAN_PAGES as usize).is_none_or(|s| s.meets(span));
    let starts = view.starts()?;
    let mut pages = match &query.expression {
        None => (0..starts.len() as u32).collect(),
        Some(_) => pages(view, query, span)?,
    };
    pages.retain(|page| due(*page) && starts.get(*page as usize).is_some_and(Option::is_some));
    Ok(match pages.is_empty() {
        true => Plan::Nothing,
        false if facts.sequential => Plan::Whole,
        false => Plan::Regions(regions(&pages, &starts)),
    })
}

/// The pages of all flows that may match, and of the packets that the index does not tell apart; ascending.
fn pages<R: ReadAt>(view: &View<R>, query: &Query, span: &Span) -> Result<Vec<u32>, IndexError> {
    let mut flows = Vec::new();
    let mut pages = view.flows(|flow, pages| {
        let met = Span { first_ns: flow.first_ns, last_ns: flow.last_ns }.meets(span);
        if met && may_match_flow(query, flow) {
            flows.push(pages);
        }
    })?;
    for flow in flows {
        view.pages_of(flow, &mut pages)?;
    }
    pages.sort_unstable();
    pages.dedup();
    Ok(pages)
}

/// Pages that are near to each other become one region.
fn regions(pages: &[u32], starts: &[Option<u16>]) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    let mut before = None;
    for page in pages {
        let start = starts.get(*page as usize).copied().flatten().unwrap_or(0);
        let until = (u64::from(*page) + 1) * PAGE_OCTETS;
        match regions.last_mut() {
            Some(last) if before.is_some_and(|before| page - before <= GAP_PAGES) => last.until = until,
            _ => regions.push(Region { from: u64::from(*page) * PAGE_OCTETS + u64::from(start), until }),
        }
        before = Some(*page);
    }
    regions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_pages_are_read_together() {
        let starts = [Some(100), Some(0), None, Some(7), Some(8), Some(9), Some(10)];
        let found = regions(&[0, 1, 3, 6], &starts);
        let region = |from, until| Region { from, until: until * PAGE_OCTETS };
        assert_eq!(found, [region(100, 4), region(6 * PAGE_OCTETS + 10, 7)]);
        assert_eq!(Plan::Regions(found).octets(5 * PAGE_OCTETS), 4 * PAGE_OCTETS - 100);
    }
}
