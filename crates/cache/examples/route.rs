//! The proxy alone, for measurements: `cargo run --release -p trunkline-cache --example route -- 127.0.0.1:11311
//! 127.0.0.1:11211 127.0.0.1:11212` listens at the first address, on one thread, and asks the others.

use std::net::SocketAddr;
use trunkline_cache::job::route::{Job, Setup};
use trunkline_cache::route::config::Config;
use trunkline_net::{Listen, Options, Remote};

fn main() {
    let mut addresses = std::env::args().skip(1);
    let own: SocketAddr = addresses.next().expect("where to listen").parse().expect("an address");
    let servers: Vec<String> = addresses.collect();
    let remotes = servers.iter().map(|server| Remote::Tcp(server.parse().expect("an address"))).collect();
    let config = Config::of_servers(&servers).expect("servers");
    let options = Options { threads: 1, ..Options::default() };
    let listens = vec![Listen::Tcp { address: own, tls: None }];
    let setup = Setup { config, remotes, listens, options, version: "1.6.18".to_owned() };
    let _job = Job::open(setup).expect("opened").start().expect("started");
    loop {
        std::thread::park();
    }
}
