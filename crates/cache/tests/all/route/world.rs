//! A proxy in front of caches, all in this process, and a client that asks it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use trunkline_cache::job::{self, route};
use trunkline_cache::route::config;
use trunkline_cache::service::Settings;
use trunkline_cache::store::Rules;
use trunkline_net::{Listen, Options, Remote};

pub use crate::eventually::{PATIENCE, eventually};

fn options(threads: usize) -> Options {
    Options { threads, ..Options::default() }
}

fn tcp(address: SocketAddr) -> Vec<Listen> {
    vec![Listen::Tcp { address, tls: None }]
}

fn anywhere() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// A cache of ours.
pub struct Cache {
    _job: job::Job,
    pub address: SocketAddr,
}

impl Cache {
    pub fn start() -> Cache {
        Cache::at(anywhere())
    }

    pub fn at(address: SocketAddr) -> Cache {
        let (rules, settings) = (Rules::default(), Settings::default());
        let (listens, options) = (tcp(address), options(1));
        let setup = job::Setup { rules, settings, listens, options, certificates: None, warm_up: None };
        let job = job::Job::open(setup).unwrap().start().unwrap();
        let address = job.addresses()[0].unwrap();
        Cache { _job: job, address }
    }

    pub fn client(&self) -> Client {
        Client::of(self.address)
    }
}

/// A proxy.
pub struct Proxy {
    pub job: route::Job,
    address: SocketAddr,
}

impl Proxy {
    /// With this configuration, in which `@0`, `@1` and so on are the addresses of caches.
    pub fn start(text: &str, caches: &[SocketAddr]) -> Proxy {
        let mut text = text.to_owned();
        for (number, address) in caches.iter().enumerate() {
            text = text.replace(&format!("@{number}"), &address.to_string());
        }
        Proxy::of(&text)
    }

    pub fn of(text: &str) -> Proxy {
        let config = config::read("route.toml", text).unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
        let remotes = config.servers.iter().map(|server| match server.name.strip_prefix("unix:") {
            Some(path) => Remote::Unix(path.into()),
            None => Remote::Tcp(server.name.parse().unwrap()),
        });
        let remotes = remotes.collect();
        let (listens, version) = (tcp(anywhere()), "1.6.18".to_owned());
        let setup = route::Setup { config, remotes, listens, options: options(2), version };
        let job = route::Job::open(setup).unwrap().start().unwrap();
        let address = job.addresses()[0].unwrap();
        Proxy { job, address }
    }

    pub fn client(&self) -> Client {
        Client::of(self.address)
    }
}

pub struct Client(BufReader<TcpStream>);

impl Client {
    pub fn of(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client(BufReader::new(stream))
    }

    pub fn say(&mut self, octets: impl AsRef<[u8]>) {
        self.0.get_mut().write_all(octets.as_ref()).unwrap();
    }

    /// Says `text`, a line for each of its lines, and `mn`; what is answered before that.
    pub fn ask(&mut self, text: &str) -> String {
        let lines = text.replace('\n', "\r\n");
        self.say(format!("{lines}\r\nmn\r\n"));
        String::from_utf8(self.until_barrier()).unwrap().replace("\r\n", "\n").trim_end().to_owned()
    }

    /// What comes before `MN`.
    pub fn until_barrier(&mut self) -> Vec<u8> {
        let mut told = Vec::new();
        while !(told.ends_with(b"MN\r\n") && (told.len() == 4 || told.ends_with(b"\nMN\r\n"))) {
            let read = self.0.read_until(b'\n', &mut told).unwrap();
            assert!(read > 0, "it ended after {:?}", String::from_utf8_lossy(&told));
        }
        told.truncate(told.len() - 4);
        told
    }

    /// What comes before the end of the connection.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut told = Vec::new();
        self.0.read_to_end(&mut told).unwrap();
        told
    }

    /// Says no more, but listens.
    pub fn end(&mut self) {
        self.0.get_mut().shutdown(std::net::Shutdown::Write).unwrap();
    }
}
