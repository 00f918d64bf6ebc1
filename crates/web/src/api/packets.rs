//! The packet log: its segments, and how full it was over time.

use super::ask::{self, Ask, Span, Text};
use super::call::packets;
use super::{losses, schema};
use crate::auth::Permission;
use crate::guard::Who;
use crate::problem::Problem;
use crate::sources::{RetentionInfo, SegmentInfo, SourceError};
use crate::state::Web;
use axum::Json;
use axum::extract::State;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use trunkline_store::row::Loss;
use trunkline_store::stop::Stop;
use trunkline_store::summary::Buckets;
use trunkline_store::time::{SECOND_NS, parse_span, rfc3339};
use trunkline_store::{Skipped, Store, StoreError, json};
use utoipa::{IntoParams, ToSchema};

/// Buckets of a timeline when nothing is said.
pub const BUCKETS_DEFAULT: usize = 240;

/// Reports of losses that a timeline adds up.
pub const LOSSES_MAX: usize = 100_000;

/// Which segments are wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SegmentsAsk {
    /// Segments that hold packets of then or later.
    pub from: Option<String>,
    /// Segments that hold packets from before then.
    pub to: Option<String>,
    /// Only this class: sip, rtp, other.
    pub class: Option<String>,
    /// Rows of a page, 1 to 1000.
    pub limit: Option<u32>,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

/// A page of segments.
#[derive(Serialize, ToSchema)]
pub struct SegmentsPage {
    /// The newest first.
    pub segments: Vec<SegmentInfo>,
    /// What to hand back as `cursor` for more; null at the end.
    pub next: Option<String>,
}

/// Segments of the packet log, newest first.
#[utoipa::path(
    get, path = "/packets/segments", tag = "packets", params(SegmentsAsk),
    responses((status = 200, body = SegmentsPage), (status = "4XX", body = schema::Problem))
)]
pub async fn segments(
    State(web): State<Arc<Web>>,
    who: Who,
    Ask(ask): Ask<SegmentsAsk>,
) -> Result<Json<SegmentsPage>, Problem> {
    who.need(Permission::CallsRead)?;
    let span = Span::read(ask.from.as_deref(), ask.to.as_deref(), who.now_ns, &TimeZone::UTC)?;
    let limit = ask::limit(ask.limit)?;
    let packets = packets(&web)?;
    let mut all = look(&web, move || packets.segments(span.from_ns, span.to_ns)).await?;
    if let Some(class) = ask.class.as_deref().filter(|class| !class.is_empty()) {
        all.retain(|segment| segment.class == class);
    }
    // By time, then by name: names are unique, so a page goes on where the one before ended though segments came.
    let key = |segment: &SegmentInfo| (segment.from.unwrap_or(i64::MAX), segment.name.clone());
    all.sort_by_key(|segment| std::cmp::Reverse(key(segment)));
    if let Some(cursor) = ask.cursor.as_deref().filter(|cursor| !cursor.is_empty()) {
        let (at, name) = cursor.split_once('.').ok_or_else(wrong_cursor)?;
        let before = (at.parse::<i64>().map_err(|_| wrong_cursor())?, name.to_owned());
        all.retain(|segment| key(segment) < before);
    }
    let more = all.len() > limit;
    all.truncate(limit);
    let next = all.last().filter(|_| more).map(|last| {
        let (at, name) = key(last);
        format!("{at}.{name}")
    });
    Ok(Json(SegmentsPage { segments: all, next }))
}

fn wrong_cursor() -> Problem {
    Problem::parameter("cursor", "The cursor is 'next' of the page before, unchanged.")
}

/// Looks at the packet log, which may wait for the disk; few at a time.
pub async fn look<T: Send + 'static>(
    web: &Web,
    look: impl FnOnce() -> Result<T, SourceError> + Send + 'static,
) -> Result<T, Problem> {
    Ok(web.look(&web.log_looks, look).await??)
}

/// Of which time the timeline is wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TimelineAsk {
    /// From then on; the oldest packet if nothing is said.
    pub from: Option<String>,
    /// Until then; the newest packet if nothing is said.
    pub to: Option<String>,
    /// Most buckets, 1 to 2000; 240 if nothing is said.
    pub buckets: Option<u32>,
}

/// How full the packet log is, over time.
#[derive(Serialize, ToSchema)]
pub struct Timeline {
    /// Beginning of the span; null if there are no packets.
    #[schema(format = DateTime)]
    pub from: Option<String>,
    /// End of the span.
    #[schema(format = DateTime)]
    pub to: Option<String>,
    /// Length of a bucket, seconds.
    pub bucket_s: u64,
    /// Oldest first, without gaps. A segment's octets are spread evenly over its time.
    pub buckets: Vec<TimelineBucket>,
    /// What the capture lost in the span: the newest 1000 reports.
    pub losses: Vec<schema::Loss>,
    /// Packets that it lost in the span, of all reports that were read.
    pub lost: u64,
    /// Whether more was lost than `lost` and the buckets say: there are more than 100000 reports, or it took too long.
    pub lost_more: bool,
    /// Days that could not be read.
    pub skipped: Vec<schema::SkippedDay>,
    /// What is kept how long, by class.
    pub retention: Vec<RetentionInfo>,
    /// Oldest packet of the log.
    #[schema(format = DateTime)]
    pub oldest: Option<String>,
    /// Newest packet.
    #[schema(format = DateTime)]
    pub newest: Option<String>,
}

/// A part of the timeline.
#[derive(Serialize, ToSchema)]
pub struct TimelineBucket {
    /// When it begins.
    #[schema(format = DateTime)]
    pub at: String,
    /// Octets by class.
    pub octets: TimelineOctets,
    /// Packets; null where a segment does not say.
    pub packets: Option<u64>,
    /// Packets that the capture lost.
    pub lost: u64,
}

/// Octets by class.
#[derive(Clone, Copy, Default, Serialize, ToSchema)]
pub struct TimelineOctets {
    /// Signalling.
    pub sip: u64,
    /// Media.
    pub rtp: u64,
    /// The rest.
    pub other: u64,
}

/// How full the packet log was, over time, with losses and what is kept.
#[utoipa::path(
    get, path = "/packets/timeline", tag = "packets", params(TimelineAsk),
    responses((status = 200, body = Timeline), (status = "4XX", body = schema::Problem))
)]
pub async fn timeline(State(web): State<Arc<Web>>, who: Who, Ask(ask): Ask<TimelineAsk>) -> Result<Text, Problem> {
    who.need(Permission::CallsRead)?;
    let asked = Span::read(ask.from.as_deref(), ask.to.as_deref(), who.now_ns, &TimeZone::UTC)?;
    let at_most = match ask.buckets {
        None => BUCKETS_DEFAULT,
        Some(n @ 1..=2000) => n as usize,
        Some(_) => return Err(Problem::parameter("buckets", "There are 1 to 2000 buckets.")),
    };
    let packets = packets(&web)?;
    let read = move || {
        let behind = if asked.to_ns == i64::MAX { vec![] } else { packets.segments(asked.to_ns, i64::MAX)? };
        Ok((packets.segments(asked.from_ns, asked.to_ns)?, behind, packets.retention()?))
    };
    let (segments, behind, retention) = look(&web, read).await?;
    let oldest = segments.iter().filter_map(|s| s.from).chain(retention.iter().filter_map(|r| r.oldest)).min();
    let newest = segments.iter().chain(&behind).filter_map(|s| s.to.or(s.from)).max();
    let from = if asked.from_ns == i64::MIN { oldest } else { Some(asked.from_ns) };
    let to = if asked.to_ns == i64::MAX { newest.map(|at| at.saturating_add(1)) } else { Some(asked.to_ns) };
    let span = from.zip(to).filter(|(from, to)| from < to);
    let lost = match span {
        None => Lost::default(),
        Some((from, to)) => web.stores.ask_for_a_while(move |store, stop| Lost::read(store, from, to, &stop)).await?,
    };
    let buckets = span.map(|(from, to)| Buckets::over(from, to, at_most)).unwrap_or_default();
    let filled = fill(&buckets, span.unwrap_or_default(), &segments, &lost.all);
    Ok(Text::object(|o| {
        o.time("from", span.map(|s| s.0)).time("to", span.map(|s| s.1));
        o.int("bucket_s", Some((buckets.length_ns / SECOND_NS).unsigned_abs()));
        o.list("buckets", &filled, push);
        o.list("losses", lost.all.get(..ask::LIMIT_MAX).unwrap_or(&lost.all), json::loss);
        o.int("lost", Some(lost.all.iter().fold(0u64, |sum, loss| sum.saturating_add(loss.count))));
        o.bool("lost_more", lost.more);
        ask::skipped(o, &lost.skipped);
        o.list("retention", &retention, push);
        o.time("oldest", oldest).time("newest", newest);
    }))
}

/// What the capture lost in a span.
#[derive(Default)]
struct Lost {
    all: Vec<Loss>,
    more: bool,
    skipped: Vec<Skipped>,
}

impl Lost {
    fn read(store: &Store, from_ns: i64, to_ns: i64, stop: &Stop) -> Result<Self, StoreError> {
        let mut lost = Lost::default();
        let mut place = None;
        loop {
            let page = losses::page(store, from_ns, to_ns, place)?;
            lost.all.extend(page.rows);
            for skipped in page.skipped {
                if !lost.skipped.iter().any(|known| known.day == skipped.day) {
                    lost.skipped.push(skipped);
                }
            }
            place = page.next;
            lost.more = place.is_some();
            if !lost.more || lost.all.len() >= LOSSES_MAX || stop.is_due() {
                return Ok(lost);
            }
        }
    }
}

fn push(out: &mut String, value: &impl Serialize) {
    out.push_str(&serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()));
}

fn fill(buckets: &Buckets, span: (i64, i64), segments: &[SegmentInfo], losses: &[Loss]) -> Vec<TimelineBucket> {
    struct Filled {
        octets: [f64; 3],
        packets: Option<f64>,
        lost: u64,
    }
    let empty = || Filled { octets: [0.0; 3], packets: Some(0.0), lost: 0 };
    let mut filled: Vec<Filled> = buckets.all.iter().map(|_| empty()).collect();
    let length = buckets.length_ns.max(1);
    let first = buckets.all.first().map_or(0, |bucket| bucket.at_ns);
    let number = |at: i64| usize::try_from(at.saturating_sub(first).div_euclid(length)).unwrap_or(0);
    for segment in segments {
        let (Some(from), Some(to)) = (segment.from, segment.to.or(segment.from)) else { continue };
        if to < span.0 || from >= span.1 {
            continue;
        }
        let class = match segment.class.as_str() {
            "sip" => 0,
            "rtp" => 1,
            _ => 2,
        };
        // Of one packet or of none: its whole weight is where it begins.
        let whole = to.saturating_sub(from).saturating_add(1).max(1) as f64;
        let numbers = number(from.max(span.0))..=number(to.min(span.1 - 1));
        for at in numbers {
            let Some(slot) = filled.get_mut(at) else { break };
            let begin = first.saturating_add(length.saturating_mul(at as i64)).max(from);
            let end = first.saturating_add(length.saturating_mul(at as i64 + 1)).min(to.saturating_add(1));
            let share = (end.saturating_sub(begin) as f64 / whole).clamp(0.0, 1.0);
            slot.octets[class] += segment.octets as f64 * share;
            slot.packets = slot.packets.zip(segment.packets).map(|(sum, more)| sum + more as f64 * share);
        }
    }
    for loss in losses {
        if let Some(slot) = filled.get_mut(number(loss.since_ns)) {
            slot.lost = slot.lost.saturating_add(loss.count);
        }
    }
    let told = |(bucket, filled): (&trunkline_store::summary::Bucket, Filled)| TimelineBucket {
        at: rfc3339(bucket.at_ns),
        octets: TimelineOctets {
            sip: filled.octets[0].round() as u64,
            rtp: filled.octets[1].round() as u64,
            other: filled.octets[2].round() as u64,
        },
        packets: filled.packets.map(|sum| sum.round() as u64),
        lost: filled.lost,
    };
    buckets.all.iter().zip(filled).map(told).collect()
}

/// Reads a time of a body: RFC 3339 with an offset.
pub fn time(name: &str, text: &str) -> Result<i64, Problem> {
    let read = parse_span(text).map(|span| span.0);
    read.ok_or_else(|| Problem::parameter(name, "Not a time: write 2026-11-20T10:00:00Z."))
}
