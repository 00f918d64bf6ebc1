//! How long a search among many graphs takes: `cargo run --release -p trunkline-graph --example search [GRAPHS]`.

use std::time::Instant;
use trunkline_graph::inventory::Search;

fn main() {
    let asked = std::env::args().nth(1).and_then(|count| count.parse().ok());
    for graphs in asked.map_or_else(|| vec![100_000, 1_000_000], |count: u32| vec![count]) {
        let begun = Instant::now();
        let mut search = Search::default();
        for id in 0..graphs {
            search.put(id + 1, &title(id));
        }
        println!("{graphs} graphs, {} ms to put them in", begun.elapsed().as_millis());
        for query in [
            "traffic",
            "ams-edge-77",
            "gi0/13 errors",
            "\"customer 4711 \"",
            "a",
            "nothing of that",
            "-traffic",
            "traffic -ams edge",
            "",
        ] {
            // The slowest of five.
            let times = (0..5).map(|_| {
                let begun = Instant::now();
                let found = search.find(query, 100);
                (begun.elapsed(), found.total)
            });
            let (time, total) = times.max().unwrap_or_default();
            println!("  {:>8.2} ms  {total:>8} found  {query:?}", time.as_secs_f64() * 1000.0);
        }
    }
}

fn title(id: u32) -> String {
    let places = ["ams", "ber", "cph", "dub", "edi", "fra"];
    let kinds = ["Traffic", "Unicast packets", "Errors and discards", "Status"];
    let (device, interface) = (id / 200, id % 200 / 4);
    let place = places[(device as usize) % places.len()];
    format!("{place}-edge-{device} - Gi0/{interface} customer {} - {}", id / 4, kinds[(id % 4) as usize])
}
