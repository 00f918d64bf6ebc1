//! Gets of several clients that go as one, through a router alone: in random pieces, by servers that do wrong.
//!
//! Test group: waits: for servers that do not answer.

use crate::route::peers::{ALL, Chance, Fault, HARMLESS, KEYS, Peer, name, value};
use std::sync::Arc;
use std::time::Duration;
use trunkline_cache::route::{Host, Moment, Next, Router, State, config};

const SEEDS: u64 = 150;
const CLIENTS: usize = 4;
/// Connections of a server.
const CONNECTIONS: usize = 2;
/// More steps than a run takes.
const STEPS_MAX: usize = 1_000_000;

struct Nobody;

impl Host for Nobody {
    fn deleted(&self, _: &[u8], _: Duration) {}

    fn is_deleted(&self, _: &[u8], _: Duration) -> bool {
        false
    }

    fn stats(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn version(&self) -> &str {
        "1"
    }
}

/// What a client asked: keys of a get, or a set of the key that is its own.
enum Asked {
    Get(Vec<String>),
    Set(String),
}

/// A client with what it has still to say and what it was told.
struct Player {
    number: u32,
    own: String,
    asked: Vec<Asked>,
    script: Vec<u8>,
    carried: Vec<u8>,
    told: Vec<u8>,
    holds: bool,
}

impl Player {
    fn new(number: u32, own: String, chance: &mut Chance) -> Player {
        let mut player = Player {
            number,
            own,
            asked: Vec::new(),
            script: Vec::new(),
            carried: Vec::new(),
            told: Vec::new(),
            holds: false,
        };
        for turn in 0..chance.below(30) {
            let (line, asked) = match chance.below(5) {
                0 => {
                    let value = format!("value-{turn}");
                    (format!("set {} 5 0 {}\r\n{value}\r\n", player.own, value.len()), Asked::Set(value))
                }
                word => {
                    let most = [1, 10, 90][chance.below(3)];
                    let many = 1 + chance.below(most);
                    let mut keys: Vec<String> = (0..many).map(|_| name(chance.below(KEYS))).collect();
                    keys[chance.below(many)] = player.own.clone();
                    (format!("{} {}\r\n", if word == 1 { "gets" } else { "get" }, keys.join(" ")), Asked::Get(keys))
                }
            };
            player.script.extend_from_slice(line.as_bytes());
            player.asked.push(asked);
        }
        player
    }

    /// What it was told answers all that it asked, in order. If `is_whole`, what ends well has every value that there
    /// is; if nothing went wrong, everything ends well.
    fn check(&self, is_whole: bool, went_wrong: bool) {
        let mut told = &self.told[..];
        // The value of its own key; none where that is not known.
        let mut own = Some(None);
        for asked in &self.asked {
            match asked {
                Asked::Set(value) => {
                    let line = line(&mut told);
                    assert!(
                        line == "STORED" || (went_wrong && line.starts_with("SERVER_ERROR unavailable ")),
                        "{line}"
                    );
                    own = (line == "STORED").then(|| Some(value.clone()));
                }
                Asked::Get(keys) => {
                    let own = own.clone().filter(|_| is_whole);
                    self.check_get(keys, own, &mut told, is_whole, went_wrong);
                }
            }
        }
        assert!(told.is_empty(), "more than was asked: {:?}", String::from_utf8_lossy(told));
    }

    fn check_get(
        &self,
        keys: &[String],
        own: Option<Option<String>>,
        told: &mut &[u8],
        is_whole: bool,
        went_wrong: bool,
    ) {
        let mut missing = 0;
        let mut keys = keys.iter();
        let end = loop {
            let line = line(told);
            let Some(rest) = line.strip_prefix("VALUE ") else { break line };
            let words: Vec<&str> = rest.split(' ').collect();
            // In the order in which they were asked; those between have nothing.
            let key = keys.by_ref().find(|key| {
                missing += usize::from(*key != words[0] && self.has(key, &own));
                *key == words[0]
            });
            let key = key.unwrap_or_else(|| panic!("nobody asked for {}", words[0]));
            let octets: usize = words[2].parse().unwrap();
            let (found, behind) = told.split_at(octets);
            *told = behind.strip_prefix(b"\r\n").expect("the end of a value");
            let expected = if *key == self.own { own.clone().flatten() } else { Some(value_of(key)) };
            let is_right = expected.is_none_or(|expected| found == expected.as_bytes());
            assert!(is_right, "{key}: {:?}", String::from_utf8_lossy(found));
        };
        missing += keys.filter(|key| self.has(key, &own)).count();
        match &end[..] {
            "END" => assert!(!is_whole || missing == 0, "{missing} are missing"),
            end => assert!(went_wrong && end.starts_with("SERVER_ERROR "), "{end}"),
        }
    }

    /// Whether a key has a value at the servers, as far as that is known.
    fn has(&self, key: &str, own: &Option<Option<String>>) -> bool {
        if key == self.own { matches!(own, Some(Some(_))) } else { !value_of(key).is_empty() }
    }
}

fn value_of(key: &str) -> String {
    (0..KEYS).find(|number| name(*number) == key).and_then(value).unwrap_or_default()
}

fn line(told: &mut &[u8]) -> String {
    let end = told.iter().position(|octet| *octet == b'\n').expect("an answer");
    let line = String::from_utf8_lossy(&told[..end]).trim_end().to_owned();
    *told = &told[end + 1..];
    line
}

/// A router between clients and servers, at which some gets go wrong in one of these ways.
struct Run {
    router: Router,
    chance: Chance,
    players: Vec<Player>,
    peers: Vec<Peer>,
    faults: &'static [Fault],
    now: Moment,
}

impl Run {
    fn new(text: &str, seed: u64, faults: &'static [Fault]) -> Run {
        let route = "[route]\ntimeout = \"100 ms\"\nretry = \"50 ms\"\nretry-max = \"50 ms\"\nclient-queue = 40\n";
        let config = config::read("", &format!("{route}connections = {CONNECTIONS}\n{text}")).expect("it is right");
        let peers = (0..config.servers.len() * CONNECTIONS).map(|_| Peer::default()).collect();
        let router = Router::new(Arc::new(config), Arc::new(Nobody));
        let (chance, now) = (Chance::new(seed), Moment::default());
        Run { router, chance, players: Vec::new(), peers, faults, now }
    }

    /// Everything that clients say and are told, each checked with `check` at its end.
    fn play(mut self, check: impl Fn(&Player)) -> Run {
        for number in 0..CLIENTS {
            self.join(format!("own-{number}"));
        }
        for step in 0..STEPS_MAX {
            if self.is_done() {
                self.players.iter().for_each(&check);
                return self;
            }
            match self.chance.below(8) {
                0..=2 => self.clients(),
                3 | 4 => self.ask(),
                5 | 6 => self.answer(),
                _ => self.pass_time(),
            }
            self.errands();
            if self.fails() && step % 500 == 499 {
                let gone = self.players.swap_remove(self.chance.below(CLIENTS));
                self.router.left(gone.number);
                self.join(format!("late-{step}"));
            }
        }
        panic!("it does not end");
    }

    /// Whether connections end, servers are late, clients leave.
    fn fails(&self) -> bool {
        self.faults != HARMLESS
    }

    fn join(&mut self, own: String) {
        let number = self.router.accepted();
        self.players.push(Player::new(number, own, &mut self.chance));
    }

    fn is_done(&self) -> bool {
        let is_done = |player: &Player| player.script.is_empty() && player.carried.is_empty();
        self.players.iter().all(|player| is_done(player) && !self.router.owes(player.number))
    }

    /// A client says something.
    fn clients(&mut self) {
        let at = self.chance.below(CLIENTS);
        let player = &mut self.players[at];
        if !player.holds {
            let octets = self.chance.below(300).min(player.script.len());
            player.carried.extend(player.script.drain(..octets));
            let taken = self.router.octets(player.number, &player.carried, self.now);
            player.carried.drain(..taken);
            self.tell(at);
        }
    }

    fn tell(&mut self, at: usize) {
        let player = &mut self.players[at];
        loop {
            let told = &mut player.told;
            let room = 1 + self.chance.below(200);
            let next = self.router.say(player.number, room, &mut |octets| told.extend_from_slice(octets));
            player.holds = next == Next::Hold;
            if next != Next::Resume {
                return;
            }
        }
    }

    /// A server hears something.
    fn ask(&mut self) {
        let link = self.chance.below(self.peers.len());
        if self.router.servers.link(link as u32).is_some_and(|link| link.state == State::Up) {
            let room = 1 + self.chance.below(3000);
            let (peer, chance) = (&mut self.peers[link], &mut self.chance);
            self.router.servers.say(link as u32, room, |octets| peer.hear(octets, chance, self.faults));
        }
    }

    /// Some of what a server answered comes.
    fn answer(&mut self) {
        let link = self.chance.below(self.peers.len());
        let peer = &mut self.peers[link];
        let here = if self.chance.one_in(2) { self.chance.below(peer.answers.len() + 1) } else { peer.answers.len() };
        let taken = self.router.answers(link as u32, &peer.answers[..here], self.now);
        peer.answers.drain(..taken);
        if peer.ends && here - taken == peer.answers.len() {
            self.close(link);
        }
    }

    fn close(&mut self, link: usize) {
        self.peers[link].renew();
        self.router.lost(link as u32, self.now);
    }

    fn pass_time(&mut self) {
        self.now.monotonic += Duration::from_millis(self.fails().into());
        self.router.tick(self.now);
    }

    fn errands(&mut self) {
        let errands = core::mem::take(&mut self.router.servers.errands);
        for link in errands.dials {
            match self.fails() && self.chance.one_in(20) {
                true => self.close(link as usize),
                false => self.router.servers.up(link, self.now.monotonic),
            }
        }
        errands.cuts.into_iter().for_each(|link| self.close(link as usize));
        for woken in self.router.woken() {
            if let Some(at) = self.players.iter().position(|player| player.number == woken) {
                self.tell(at);
            }
        }
    }
}

const PLAIN: &str = "[pool.main]\nservers = [\"a:1\", \"b:1\", \"c:1\"]\n";

fn joined(run: &Run) -> u64 {
    run.router.servers.tallies.iter().map(|tally| tally.joined).sum()
}

#[test]
fn every_value_comes_in_the_order_in_which_it_was_asked() {
    let mut keys_most = 0;
    for seed in 0..SEEDS {
        let run = Run::new(PLAIN, seed, HARMLESS).play(|player| player.check(true, false));
        keys_most = run.peers.iter().map(|peer| peer.keys_most).max().unwrap_or(0).max(keys_most);
        let tallies = &run.router.servers.tallies;
        assert!(joined(&run) > 0 && tallies.iter().all(|tally| tally.sent == tally.answered), "{tallies:?}");
    }
    assert!(keys_most > 30, "{keys_most}");
}

#[test]
fn what_ends_well_is_whole_whatever_servers_do() {
    let (mut broken, mut late, mut lost, mut refused) = (0, 0, 0, 0);
    for seed in 0..SEEDS {
        let text = format!("dead-reads = \"error\"\n{PLAIN}");
        let run = Run::new(&text, seed, ALL).play(|player| player.check(true, true));
        for tally in &run.router.servers.tallies {
            (broken, late, lost) = (broken + tally.broken, late + tally.late, lost + tally.lost);
            refused += tally.refused;
            assert!(tally.sent >= tally.answered + tally.failed, "{tally:?}");
        }
    }
    assert!([broken, late, lost, refused].iter().all(|count| *count > SEEDS / 3), "{broken} {late} {lost} {refused}");
}

#[test]
fn values_of_servers_that_fail_are_misses_or_come_from_others() {
    let gutter = "gutter = \"spare\"\n[pool.spare]\nservers = [\"d:1\"]\n";
    let copies = "policy = \"replicated\"\nmiss-next = true\n";
    for seed in 0..SEEDS {
        for text in [PLAIN.to_owned(), format!("default = \"main\"\n{PLAIN}{gutter}"), format!("{PLAIN}{copies}")] {
            let run = Run::new(&text, seed, ALL).play(|player| player.check(false, true));
            assert!(joined(&run) > 0);
        }
    }
}
