//! Where addresses are, what is on the way between them, and what was lost there in a span of time.

use super::shows::{self, Shows};
use super::{Unanswered, View, devices, few, map};
use crate::inventory::Inventory;
use crate::network::{How, Network, Node, Place, Visible, Ways, first_of, interface};
use crate::template::Library;
use std::collections::BTreeMap;
use std::net::IpAddr;
use trunkline_contract::graph::{
    GraphAddress, GraphLoss, GraphMapNode, GraphNear, GraphOfStop, GraphPlace, GraphStep, GraphStop, GraphWays,
    NearWanted,
};
use trunkline_rrd::{Consolidation, Question};

/// Addresses of one question.
pub const ADDRESSES_MAX: usize = 64;
/// Pairs of addresses between which ways are asked for.
pub const PAIRS_MAX: usize = 64;
/// Interfaces and devices on the way that are told; further ones are counted.
// Limit: interfaces and devices on a call's network path shown
// Beyond: further ones are counted
// Seen in: the call's page
pub const STOPS_MAX: usize = 48;
/// Graphs of one interface or device on the way.
const STOP_GRAPHS_MAX: usize = 4;
/// Seconds over which losses are counted.
const SPAN_S_MAX: i64 = 7 * 86_400;

/// What is asked.
struct Wanted {
    addresses: Vec<IpAddr>,
    pairs: Vec<[usize; 2]>,
    /// The span in which losses count, seconds of Unix.
    span: Option<(i64, i64)>,
}

impl Wanted {
    fn read(asked: &NearWanted) -> Result<Wanted, Unanswered> {
        few("addresses", asked.addresses.len(), ADDRESSES_MAX)?;
        few("pairs", asked.pairs.len(), PAIRS_MAX)?;
        if asked.addresses.is_empty() {
            return Err(Unanswered::Asked("\"addresses\" is needed".to_owned()));
        }
        let address = |text: &String| {
            let address = text.trim_matches(['[', ']']).parse::<IpAddr>().map(|address| address.to_canonical());
            address.map_err(|_| Unanswered::Asked(format!("'{text}' is no address of IP")))
        };
        let addresses: Vec<IpAddr> = asked.addresses.iter().map(address).collect::<Result<_, _>>()?;
        if asked.pairs.iter().flatten().any(|place| *place >= addresses.len()) {
            return Err(Unanswered::Asked("a pair is two places in \"addresses\"".to_owned()));
        }
        let span = match (asked.from, asked.to) {
            (None, None) => None,
            (Some(from), Some(to)) if from >= 0 && to > from && to - from <= SPAN_S_MAX => Some((from, to)),
            _ => return Err(Unanswered::Asked("a span ends after it begins, seven days later at most".to_owned())),
        };
        Ok(Wanted { addresses, pairs: asked.pairs.clone(), span })
    }
}

/// The data sources whose files an answer needs: what waits for them is to be written first.
pub fn near_sources(inventory: &Inventory, library: &Library, asked: &NearWanted) -> Vec<u32> {
    let Ok(wanted) = Wanted::read(asked) else { return Vec::new() };
    if wanted.span.is_none() {
        return Vec::new();
    }
    let found = Found::of(inventory, &wanted, &|_| true, &|_| true);
    found.stops.keys().flat_map(|stop| loss_sources(inventory, library, *stop)).map(|(source, _)| source).collect()
}

/// Where each address is, the ways between pairs of them, and all that is on these ways: what lost something in the
/// span first.
pub(super) fn show(view: &View<'_>, asked: &NearWanted, visible: Visible<'_>) -> Result<GraphNear, Unanswered> {
    let wanted = Wanted::read(asked)?;
    let found = Found::of(view.inventory, &wanted, visible, &|row| view.sees_row(row));
    let told = Told { view, network: &found.network };
    let addresses = wanted.addresses.iter().zip(&found.places).map(|(address, (places, total))| GraphAddress {
        address: address.to_string(),
        places: places.iter().map(|place| told.place(*address, place)).collect(),
        places_total: *total as u64,
    });
    Ok(GraphNear {
        addresses: addresses.collect(),
        ways: found.ways.iter().map(|way| told.way(&wanted, way)).collect(),
        stops: stops(view, &found, wanted.span),
        stops_total: found.stops.len() as u64,
    })
}

/// An interface of a device, or the device as a whole.
type Stop = (u32, Option<u32>);

/// A way between two addresses.
struct Way {
    pair: [usize; 2],
    ways: Vec<Vec<Node>>,
    total: u64,
}

struct Found {
    network: std::sync::Arc<Network>,
    places: Vec<(Vec<Place>, usize)>,
    ways: Vec<Way>,
    /// What is on the way, why, and as the how manieth it was come to.
    stops: BTreeMap<Stop, (usize, Vec<String>)>,
}

impl Found {
    /// Of the devices and rows that somebody may see.
    fn of(inventory: &Inventory, wanted: &Wanted, visible: Visible<'_>, row_visible: Visible<'_>) -> Found {
        let row_is_shown: Visible<'_> = &|row| inventory.rows().has(row) && row_visible(row);
        let network = inventory.network();
        let places = wanted.addresses.iter().map(|address| network.near(*address, visible)).collect();
        let mut found = Found { network, places, ways: Vec::new(), stops: BTreeMap::new() };
        let nearest: Vec<Vec<Place>> =
            wanted.addresses.iter().map(|address| found.network.nearest(*address, visible)).collect();
        for [from, to] in &wanted.pairs {
            found.add_places(row_is_shown, wanted.addresses[*from], &nearest[*from]);
            let (ends, way) = found.way(wanted, &nearest, [*from, *to], visible);
            found.add_places(row_is_shown, wanted.addresses[*from], &ends[0]);
            let why = format!("between {} and {}", wanted.addresses[*from], wanted.addresses[*to]);
            way.ways.iter().for_each(|way| found.add_way(row_is_shown, way, &why));
            found.add_places(row_is_shown, wanted.addresses[*to], &ends[1]);
            found.add_places(row_is_shown, wanted.addresses[*to], &nearest[*to]);
            found.ways.push(way);
        }
        for (address, nearest) in wanted.addresses.iter().zip(&nearest) {
            found.add_places(row_is_shown, *address, nearest);
        }
        found
    }

    /// The way between two addresses, and the places where it begins and ends: those that are nearest, and where no way
    /// leads from a switch, those that reach the address through it.
    fn way(
        &self,
        wanted: &Wanted,
        nearest: &[Vec<Place>],
        [from, to]: [usize; 2],
        visible: Visible<'_>,
    ) -> ([Vec<Place>; 2], Way) {
        let devices = |places: &[Place]| places.iter().map(|place| place.device).collect::<Vec<_>>();
        let ends = |at: usize| {
            let others = self.network.nearest_beside_ports(wanted.addresses[at], visible);
            let is_other = !others.is_empty() && nearest[at] != others;
            [Some(nearest[at].clone()), is_other.then_some(others)].into_iter().flatten()
        };
        for begin in ends(from) {
            for end in ends(to) {
                let Ways { ways, total } = self.network.ways(&devices(&begin), &devices(&end), visible);
                if total > 0 {
                    return ([begin, end], Way { pair: [from, to], ways, total });
                }
            }
        }
        ([Vec::new(), Vec::new()], Way { pair: [from, to], ways: Vec::new(), total: 0 })
    }

    fn add(&mut self, stop: Stop, why: Option<&str>) {
        let next = self.stops.len();
        let (_, whys) = self.stops.entry(stop).or_insert((next, Vec::new()));
        if let Some(why) = why.filter(|why| !whys.iter().any(|known| known == why)) {
            whys.push(why.to_owned());
        }
    }

    fn add_places(&mut self, row_is_shown: Visible<'_>, address: IpAddr, places: &[Place]) {
        for place in places {
            let row = place.row.filter(|row| row_is_shown(*row));
            let why = why(address, place.how);
            self.add((place.device, row), Some(&why));
            self.add((place.device, None), None);
        }
    }

    fn add_way(&mut self, row_is_shown: Visible<'_>, way: &[Node], why: &str) {
        for (at, node) in way.iter().enumerate() {
            let Node::Device(device) = *node else { continue };
            let beside = [at.checked_sub(1).map(|before| way[before]), way.get(at + 1).copied()];
            let rows = beside.into_iter().flatten().flat_map(|next| rows_to(&self.network, *node, next));
            for row in rows.filter(|row| row_is_shown(*row)).collect::<Vec<_>>() {
                self.add((device, Some(row)), Some(why));
            }
            self.add((device, None), Some(why));
        }
    }
}

/// The interfaces of a node that lead to another one.
fn rows_to(network: &Network, node: Node, next: Node) -> Vec<u32> {
    let ends = network.links_of(node).filter_map(|link| link.from(node));
    ends.filter(|(_, far)| far.node == next).filter_map(|(near, _)| near.row).collect()
}

/// Why an address is near.
fn why(address: IpAddr, how: How) -> String {
    match how {
        How::Own => format!("{address} is its own address"),
        How::Next => format!("{address} is next to it, as LLDP says"),
        How::Port(1) => format!("{address} is alone behind that port, by its forwarding table"),
        How::Port(count) => format!("{address} is one of {count} behind that port, by its forwarding table"),
        How::Host | How::HostBehind if address.is_ipv4() => format!("{address} is in its ARP table"),
        How::Host | How::HostBehind => format!("{address} is in its table of neighbours"),
        How::Network(bits) => format!("{address} is in its network {}/{bits}", first_of(address, bits)),
    }
}

struct Told<'t, 'v> {
    view: &'t View<'v>,
    network: &'t Network,
}

impl Told<'_, '_> {
    fn place(&self, address: IpAddr, place: &Place) -> GraphPlace {
        let GraphMapNode { name, state, .. } = map::node(self.view, self.network, Node::Device(place.device));
        let how = match place.how {
            How::Own => "own",
            How::Next => "next",
            How::Port(_) => "port",
            How::Host | How::HostBehind => "host",
            How::Network(_) => "network",
        };
        let row = place.row.filter(|row| self.view.sees_row(*row));
        GraphPlace {
            device: place.device,
            name,
            state,
            row,
            interface: interface(self.view.inventory, row).map(str::to_owned),
            how: how.to_owned(),
            why: why(address, place.how),
        }
    }

    fn way(&self, wanted: &Wanted, way: &Way) -> GraphWays {
        let [from, to] = way.pair.map(|at| wanted.addresses[at].to_string());
        let ways = way.ways.iter().map(|way| (0..way.len()).map(|at| self.step(way, at)).collect()).collect();
        GraphWays { from, to, ways, ways_total: way.total }
    }

    fn step(&self, way: &[Node], at: usize) -> GraphStep {
        let GraphMapNode { kind, device, name, state, .. } = map::node(self.view, self.network, way[at]);
        let to = |next: Option<&Node>| -> Vec<String> {
            let rows = next.into_iter().flat_map(|next| rows_to(self.network, way[at], *next));
            let shown = rows.filter(|row| self.view.sees_row(*row));
            shown.filter_map(|row| interface(self.view.inventory, Some(row))).map(str::to_owned).collect()
        };
        let comes = to(at.checked_sub(1).and_then(|before| way.get(before)));
        GraphStep { kind, device, name, state, comes, out: to(way.get(at + 1)) }
    }
}

/// What is on the way: what lost most first, then in the order of the way.
fn stops(view: &View<'_>, found: &Found, span: Option<(i64, i64)>) -> Vec<GraphStop> {
    let mut stops: Vec<(f64, f64, usize, Stop, Vec<Loss>)> = found
        .stops
        .iter()
        .map(|(stop, (at, _))| {
            let losses = span.map(|span| losses(view, *stop, span)).unwrap_or_default();
            let sum = |is_counted: bool| {
                losses.iter().filter(|loss| loss.is_counted == is_counted).map(|loss| loss.amount).sum::<f64>()
            };
            (sum(true), sum(false), *at, *stop, losses)
        })
        .collect();
    stops.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    let mut graphs: BTreeMap<u32, Vec<(u32, Shows, Option<u32>)>> = BTreeMap::new();
    let mut told = Vec::new();
    for (_, _, _, stop, losses) in stops.into_iter().take(STOPS_MAX) {
        let of_device = graphs.entry(stop.0).or_insert_with(|| shows::of_device(view.inventory, view.library, stop.0));
        let whys = found.stops.get(&stop).map(|(_, whys)| whys.clone()).unwrap_or_default();
        told.push(self::stop(view, stop, whys, losses, of_device));
    }
    told
}

fn stop(
    view: &View<'_>,
    (device, row): Stop,
    whys: Vec<String>,
    losses: Vec<Loss>,
    graphs: &[(u32, Shows, Option<u32>)],
) -> GraphStop {
    let found = view.inventory.devices().get(device);
    let name = interface(view.inventory, row);
    let label = row.and_then(|row| view.inventory.rows().get(row)).map(|row| &*row.label);
    let is_of = |(_, shows, of): &&(u32, Shows, Option<u32>)| match row {
        Some(_) => *of == row && matches!(shows, Shows::Losses | Shows::Traffic),
        None => *shows == Shows::Processor || (of.is_none() && matches!(shows, Shows::Losses | Shows::RoundTrip)),
    };
    let shown = graphs.iter().filter(|(id, ..)| view.sees_graph(*id));
    let mut of_stop: Vec<&(u32, Shows, Option<u32>)> = shown.filter(is_of).collect();
    of_stop.sort_by_key(|(id, shows, _)| (*shows, *id));
    // One of a kind: a device with many processors is shown by its first.
    of_stop.dedup_by_key(|(_, shows, _)| *shows);
    let graph = |(id, shows, _): &&(u32, Shows, Option<u32>)| GraphOfStop {
        id: *id,
        title: view.inventory.title(view.library, *id),
        shows: shows.word().to_owned(),
    };
    GraphStop {
        device,
        device_name: found.map(|device| device.name.to_string()).unwrap_or_default(),
        state: found.map_or("unknown", |found| devices::state(view, device, found)).to_owned(),
        row,
        interface: name.map(str::to_owned),
        label: label.filter(|label| !label.is_empty()).map(str::to_owned),
        whys,
        losses: losses.iter().map(Loss::told).collect(),
        graphs: of_stop.iter().take(STOP_GRAPHS_MAX).map(graph).collect(),
    }
}

/// What was lost at one place in a span.
struct Loss {
    what: &'static str,
    amount: f64,
    is_counted: bool,
    /// When the rows that tell it begin and end.
    from_s: i64,
    to_s: i64,
}

impl Loss {
    fn told(&self) -> GraphLoss {
        GraphLoss {
            what: self.what.to_owned(),
            amount: self.amount,
            unit: if self.is_counted { "packets" } else { "%" }.to_owned(),
            from: Some(self.from_s),
            to: Some(self.to_s),
        }
    }
}

/// The data sources of a stop that tell of losses, with their templates.
fn loss_sources<'l>(
    inventory: &Inventory,
    library: &'l Library,
    (device, row): Stop,
) -> Vec<(u32, Vec<shows::LossSeries<'l>>)> {
    let of = |id: &u32| {
        let source = inventory.sources().get(*id).filter(|source| source.row == row)?;
        let series = shows::losses(library.data.get(inventory.template_name(source.template)?)?);
        (!series.is_empty()).then_some((*id, series))
    };
    inventory.sources_of(device).iter().filter_map(of).collect()
}

/// What was lost there in a span; nothing of what is not known.
fn losses(view: &View<'_>, stop: Stop, span: (i64, i64)) -> Vec<Loss> {
    let mut all: Vec<Loss> = Vec::new();
    let sources = loss_sources(view.inventory, view.library, stop).into_iter();
    for (source, series) in sources.filter(|(source, _)| view.sees_source(*source)) {
        let (start_s, end_s) = span;
        let question = Question { consolidation: Consolidation::Average, start_s, end_s, step_s: 1 };
        let Ok(rows) = view.files.rows(source, &question) else { continue };
        for one in series {
            let Some(column) = rows.names.iter().position(|name| name == one.name) else { continue };
            let values = rows.values.iter().skip(column).step_by(rows.names.len().max(1));
            all.extend(loss(&one, values.copied(), rows.start_s, rows.step_s, span));
        }
    }
    all.sort_by(|a, b| b.amount.total_cmp(&a.amount));
    all
}

/// Rows that are of the span, in part or as a whole, are added up: what is lost in a minute of a call counts, though
/// the call had a part of that minute only.
fn loss(
    series: &shows::LossSeries<'_>,
    values: impl Iterator<Item = f64>,
    start_s: i64,
    step_s: i64,
    (from_s, to_s): (i64, i64),
) -> Option<Loss> {
    let begins = (0i64..).map(|row| start_s + row * step_s);
    let within = begins.zip(values).filter(|(begin, _)| *begin < to_s && begin + step_s > from_s);
    let mut loss =
        Loss { what: series.what, amount: 0.0, is_counted: series.is_counted, from_s: i64::MAX, to_s: i64::MIN };
    for (begin, value) in within {
        (loss.from_s, loss.to_s) = (loss.from_s.min(begin), loss.to_s.max(begin + step_s));
        if value.is_finite() && value > 0.0 {
            match series.is_counted {
                true => loss.amount += value * step_s as f64,
                false => loss.amount = loss.amount.max(value),
            }
        }
    }
    if series.is_counted {
        // Less than a packet is what the border of two rows has cut off.
        loss.amount = if loss.amount < 0.05 { 0.0 } else { loss.amount.round().max(1.0) };
    }
    (loss.amount > 0.0).then_some(loss)
}
