//! What is on the way of a call: devices and interfaces near its addresses and between them.

use super::question;
use crate::api::{call, schema};
use crate::auth::Permission;
use crate::guard::Who;
use crate::problem::Problem;
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use trunkline_contract::graph::{GraphNear, NearWanted, Question};
use trunkline_store::row::{Call, Direction};
use trunkline_store::time::rfc3339;
use utoipa::ToSchema;

/// Addresses of a call that are looked for; further ones are counted.
const ADDRESSES_MAX: usize = 64;
const SECOND_NS: i64 = 1_000_000_000;
/// What is shown before and after a call.
const AROUND_NS: i64 = 5 * 60 * SECOND_NS;
/// The least that is shown.
const SHOWN_NS: i64 = 15 * 60 * SECOND_NS;
/// The most of a call in which losses are counted, seconds: its first week.
const COUNTED_S_MAX: i64 = 7 * 86_400;

/// What is on the way of a call.
#[derive(Serialize, ToSchema)]
pub struct CallWay {
    /// Whether devices are polled beside these pages; if not, nothing can be told.
    pub polled: bool,
    /// When the call and its media begin.
    #[schema(format = DateTime)]
    pub begin: String,
    /// When they end.
    #[schema(format = DateTime)]
    pub end: String,
    /// From when on graphs are shown: some minutes before.
    #[schema(format = DateTime)]
    pub from: String,
    /// Until when: some minutes after.
    #[schema(format = DateTime)]
    pub to: String,
    /// The addresses of the call, and what each is in it.
    pub parts: Vec<CallWayPart>,
    /// Addresses beyond the first 64.
    pub parts_left_out: u64,
    /// Where they are, the ways between them, and what is on these ways, with what was lost there in the time of the
    /// call.
    pub near: GraphNear,
}

/// What an address is in a call.
#[derive(Serialize, ToSchema)]
pub struct CallWayPart {
    /// The address.
    pub address: String,
    /// `signalling of the caller's side`, `media of the callee` and the like.
    pub of: Vec<String>,
}

/// The addresses of a call, what they are in it, and between which of them its packets went.
#[derive(Default)]
struct Parts {
    addresses: Vec<IpAddr>,
    of: Vec<Vec<&'static str>>,
    pairs: BTreeSet<[usize; 2]>,
    left_out: u64,
}

impl Parts {
    fn of(call: &Call) -> Parts {
        let mut parts = Parts::default();
        let (src, dst) = (call.src.address.to_ip(), call.dst.address.to_ip());
        parts.pair([src, dst], ["signalling of the caller's side", "signalling of the callee's side"]);
        for stream in &call.streams {
            let words = match stream.direction {
                Direction::Caller => ["media of the caller", "media of the callee"],
                Direction::Callee => ["media of the callee", "media of the caller"],
                Direction::Unknown => ["media", "media"],
            };
            parts.pair([stream.src.address.to_ip(), stream.dst.address.to_ip()], words);
        }
        parts
    }

    fn pair(&mut self, addresses: [IpAddr; 2], words: [&'static str; 2]) {
        let [from, to] = [self.place(addresses[0], words[0]), self.place(addresses[1], words[1])];
        if let (Some(from), Some(to)) = (from, to)
            && from != to
            && !self.pairs.contains(&[to, from])
            && self.pairs.len() < ADDRESSES_MAX
        {
            self.pairs.insert([from, to]);
        }
    }

    fn place(&mut self, address: IpAddr, word: &'static str) -> Option<usize> {
        let address = Some(address.to_canonical()).filter(|address| !address.is_unspecified())?;
        let known = self.addresses.iter().position(|known| *known == address);
        if known.is_none() && self.addresses.len() == ADDRESSES_MAX {
            self.left_out += 1;
            return None;
        }
        let place = known.unwrap_or_else(|| {
            self.addresses.push(address);
            self.of.push(Vec::new());
            self.addresses.len() - 1
        });
        let of = &mut self.of[place];
        if !of.contains(&word) {
            of.push(word);
        }
        Some(place)
    }
}

/// When a call and its media begin and end, nanoseconds since 1970.
fn bounds(call: &Call) -> (i64, i64) {
    let begin = call.streams.iter().map(|stream| stream.first_ns).fold(call.start_ns, i64::min);
    let ends = call.streams.iter().map(|stream| stream.last_ns).chain(call.end_ns);
    (begin, ends.fold(call.last_ns, i64::max).max(begin))
}

/// What is shown: some minutes before and after, and a quarter of an hour at least.
fn shown((begin, end): (i64, i64)) -> (i64, i64) {
    let (from, to) = (begin.saturating_sub(AROUND_NS), end.saturating_add(AROUND_NS));
    let lacks = (SHOWN_NS - (to - from)).max(0);
    (from - lacks / 2, to + lacks / 2)
}

/// Devices and interfaces on the way of a call, why they are, and what was lost there in its time: most first.
#[utoipa::path(
    get, path = "/calls/{id}/way", tag = "call", params(("id" = String, Path)),
    responses((status = 200, body = CallWay), (status = "4XX", body = schema::Problem))
)]
pub async fn show(State(web): State<Arc<Web>>, who: Who, Path(id): Path<String>) -> Result<Json<CallWay>, Problem> {
    who.need(Permission::CallsRead)?;
    who.need(Permission::GraphsRead)?;
    let call = call::find(&web, &id).await?;
    let (parts, bounds) = (Parts::of(&call), bounds(&call));
    let (from, to) = shown(bounds);
    let polled = match web.sources.graphing.clone() {
        Some(graphing) => web.look(&web.graph_looks, move || graphing.serves()).await?,
        None => false,
    };
    let counted_from = bounds.0.div_euclid(SECOND_NS);
    let counted_to = (bounds.1.div_euclid(SECOND_NS) + 1).min(counted_from + COUNTED_S_MAX);
    let wanted = NearWanted {
        addresses: parts.addresses.iter().map(IpAddr::to_string).collect(),
        pairs: parts.pairs.iter().copied().collect(),
        from: Some(counted_from),
        to: Some(counted_to),
    };
    let near = if polled { question(&web, &who, Question::Near(wanted)).await? } else { GraphNear::default() };
    let told = parts.addresses.iter().zip(&parts.of);
    Ok(Json(CallWay {
        polled,
        begin: rfc3339(bounds.0),
        end: rfc3339(bounds.1),
        from: rfc3339(from),
        to: rfc3339(to),
        parts: told
            .map(|(address, of)| CallWayPart {
                address: address.to_string(),
                of: of.iter().map(|word| (*word).to_owned()).collect(),
            })
            .collect(),
        parts_left_out: parts.left_out,
        near,
    }))
}
