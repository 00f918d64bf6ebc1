//! Two charging nodes and a stream of NATS between them. Whoever leads is killed, stopped, told to hand over, again and
//! again, while clients charge, each message doubled by chance: at the end both ledgers are the same, entry by entry,
//! and are the sum of the answers that were given, to the octet. So are the record files of both, octet by octet.
//!
//! `TRUNKLINE_KILLS=300 cargo test -p trunkline --test all charge_standby::` for the long run.
//!
//! Test group: loads: starts clusters of three servers and kills leaders under load.

use crate::eventually::awaited;
use crate::gtpp;
use crate::gy;
use crate::nats_server;

use gy::{Client, Node, Recorded};
use nats_server::Nats;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trunkline_commit::Folder;
use trunkline_kit::random::Random;

/// Ends of who leads, unless the environment says how many.
const KILLS: u64 = 8;
const CLIENTS: u64 = 4;
/// Accounts of a client, one subscriber each.
const ACCOUNTS: u64 = 25;
const BALANCE: i64 = 900_000_000;
const PATIENCE: Duration = Duration::from_secs(120);
const NAMES: [&str; 2] = ["north", "south"];

/// Records are cut and files are closed so often that ends meet them. The second node would cut them otherwise: who
/// leads says how, and both do so.
const CDR: [[&str; 8]; 2] = [
    ["--cdr-cut-volume", "3 MiB", "--cdr-file-records", "300", "--cdr-flush", "1", "--cdr-file-time", "5"],
    ["--cdr-cut-volume", "2 MiB", "--cdr-file-records", "200", "--cdr-flush", "1", "--cdr-file-time", "5"],
];

struct Pair<'a> {
    folder: &'a Path,
    servers: Vec<String>,
    /// What both are started with besides.
    more: Vec<String>,
    stream: &'a str,
    nodes: [Node; 2],
}

impl<'a> Pair<'a> {
    fn start(folder: &'a Path, nats: &[Nats]) -> Pair<'a> {
        Pair::start_with(folder, nats, "1024")
    }

    /// With so many MiB of the stream.
    fn start_with(folder: &'a Path, nats: &[Nats], stream: &'a str) -> Pair<'a> {
        Pair::start_as(folder, nats, stream, Vec::new())
    }

    /// The same with more options.
    fn start_as(folder: &'a Path, nats: &[Nats], stream: &'a str, more: Vec<String>) -> Pair<'a> {
        let servers: Vec<String> = nats.iter().map(Nats::url).collect();
        let [one, other] = [(0, "operated over"), (1, "is on standby")];
        let nodes = [one, other].map(|(at, says)| node(folder, (&servers, &more), at, says, stream));
        Pair { folder, servers, more, stream, nodes }
    }

    /// Until both have made records of all entries, and all files are closed: they are the same, by their names.
    fn recorded(&self) -> Recorded {
        let folders = [0, 1].map(|at| self.folder.join(NAMES[at]).join("charge/cdr"));
        let all = |status: Value| status["records"]["entry"] == status["sequence"];
        awaited("records of all entries are made", || {
            let made = self.nodes.iter().all(|node| node.status().is_some_and(all));
            let [one, other] = folders.each_ref().map(|folder| files(folder));
            let whole = |files: &BTreeMap<String, Vec<u8>>| files.keys().all(|name| !name.ends_with(".part"));
            if made && whole(&one) && whole(&other) && one.len() == other.len() {
                let differ = one.iter().zip(&other).find(|(one, other)| one != other);
                assert!(differ.is_none(), "{:?}", differ.map(|((one, _), (other, _))| (one, other)));
                return Ok(Recorded::read(&folders[0]));
            }
            let told = self.nodes.each_ref().map(|node| node.status().map(|status| status["records"].clone()));
            Err(Box::new((one.into_keys().collect::<Vec<_>>(), other.into_keys().collect::<Vec<_>>(), told)))
        })
    }

    fn again(&mut self, at: usize) {
        self.nodes[at].kill();
        self.nodes[at] = node(self.folder, (&self.servers, &self.more), at, "is on standby", self.stream);
    }

    /// Who leads.
    fn leader(&self) -> usize {
        awaited("one leads", || (0..2).find(|at| self.leads(*at)).ok_or("none does"))
    }

    fn leads(&self, at: usize) -> bool {
        self.nodes[at].status().is_some_and(|status| status["stream"]["current"] == true)
    }

    fn stands_by(&self, at: usize) -> bool {
        self.nodes[at].status().is_some_and(|status| status["stands_by"] == true)
    }

    /// Until the one that leads has so many entries more.
    fn works(&self, more: u64) {
        let entries = || self.entries(self.leader()).unwrap_or(0);
        let before = entries();
        self.until(|_| entries() >= before + more);
    }

    /// The same, once the other one follows: one that has just handed over may still be asked, and knows no more.
    fn settled(&self) -> usize {
        awaited("the other one follows", || {
            Some(self.leader()).filter(|leader| self.stands_by(1 - leader)).ok_or("it does not")
        })
    }

    /// Entries of a node.
    fn entries(&self, at: usize) -> Option<u64> {
        self.nodes[at].status()?["sequence"].as_u64()
    }

    fn until(&self, done: impl Fn(&Pair<'_>) -> bool) {
        // One that is stopped would not answer what it is asked.
        let said = || self.nodes.each_ref().map(Node::said);
        awaited("they are that far", || if done(self) { Ok(()) } else { Err(said()) });
    }

    /// Until both have the same entries; how many.
    fn even(&self) -> u64 {
        let told = || [0, 1].map(|at| self.entries(at));
        self.until(|_| matches!(told(), [Some(one), Some(other)] if one == other));
        self.entries(0).expect("entries")
    }
}

fn node(folder: &Path, (servers, more): (&[String], &[String]), at: usize, says: &str, stream: &str) -> Node {
    let folder = folder.join(NAMES[at]);
    std::fs::create_dir_all(&folder).unwrap();
    let replicas = servers.len().to_string();
    let mut options = vec!["--node", NAMES[at], "--replicas", &replicas, "--takeover", "1", "--stream-size", stream];
    servers.iter().for_each(|server| options.extend(["--standby", server]));
    options.extend(CDR[at]);
    // Two nodes on one machine have addresses of their own.
    let more: Vec<String> = more.iter().map(|word| word.replace("{}", &(5 + at).to_string())).collect();
    options.extend(more.iter().map(String::as_str));
    Node::start_until(&folder, &options, says)
}

/// The record files of a folder, and those that are open.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if [".ber", ".csv", ".ber.part", ".csv.part"].iter().any(|ending| name.ends_with(ending)) {
            // One that is closed just now is not there any more.
            files.insert(name, std::fs::read(&path).unwrap_or_default());
        }
    }
    files
}

fn signal(node: &Node, signal: Signal) {
    kill_process(Pid::from_raw(node.pid() as i32).unwrap(), signal).unwrap();
}

/// The records of a node's ledger.
fn records(folder: &Path, at: usize) -> Vec<Vec<u8>> {
    let disk = Folder::beside(&folder.join(NAMES[at]).join("charge/ledger")).unwrap();
    let mut records = Vec::new();
    trunkline_commit::read(&disk, 1, |_, record| {
        records.push(record.to_vec());
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    records
}

/// Clients that charge until they are told to end.
struct Load {
    ends: Arc<AtomicBool>,
    clients: Vec<std::thread::JoinHandle<Client>>,
}

impl Load {
    fn begin(pair: &Pair<'_>) -> Load {
        Load::begin_with(pair, CLIENTS)
    }

    /// The same, with fewer clients.
    fn begin_with(pair: &Pair<'_>, clients: u64) -> Load {
        let (addresses, ends) = (pair.nodes.each_ref().map(|node| node.address), Arc::new(AtomicBool::new(false)));
        let client = |client: u64| {
            let ends = Arc::clone(&ends);
            std::thread::spawn(move || {
                let accounts = client * ACCOUNTS + 1..(client + 1) * ACCOUNTS + 1;
                let mut client = Client::of(addresses.to_vec(), client, accounts);
                while !ends.load(Ordering::Relaxed) {
                    client.round();
                }
                client.finish();
                client
            })
        };
        let clients = (0..clients).map(client).collect();
        Load { ends, clients }
    }

    /// Ends it, and compares what was answered with both ledgers.
    fn compare(self, pair: Pair<'_>) -> String {
        self.compare_after(pair, |_| {})
    }

    /// The same, with what is to be done between the last answer and the end of the nodes.
    fn compare_after(self, mut pair: Pair<'_>, after: impl FnOnce(&mut Pair<'_>)) -> String {
        self.ends.store(true, Ordering::Relaxed);
        let clients: Vec<Client> = self.clients.into_iter().map(|client| client.join().expect("a client")).collect();
        let leader = pair.settled();
        let (mut requests, mut copies, mut resent) = (0, 0, 0);
        for client in &clients {
            (requests, copies, resent) = (requests + client.answered, copies + client.copies, resent + client.resent);
            for (account, spent) in client.spent() {
                let shown = pair.nodes[leader].json(&["show", &account.to_string()]);
                assert_eq!(shown["balance"], BALANCE - spent, "account {account}");
                assert_eq!(shown["reserved"], 0, "account {account}");
            }
        }
        assert!(copies > 0 && resent > 0, "{requests} requests, {copies} copies, {resent} sent again");
        let octets: u64 = clients.iter().map(Client::octets).sum();
        let recorded = pair.recorded();
        recorded.check();
        assert_eq!(recorded.octets(), (octets, octets), "records in BER, and in the table, have every octet once");
        let spent = clients.iter().flat_map(Client::spent).filter(|(_, spent)| *spent != 0).collect();
        assert_eq!(recorded.money(), spent, "and what each account paid");
        let begun: u64 = clients.iter().map(Client::begun).sum();
        assert_eq!(recorded.sessions_ended(), begun, "each session ended once");
        after(&mut pair);
        let entries = pair.even();
        // Both at once: one that is left alone leads after a while, and says in the ledger how it makes records.
        pair.nodes.iter_mut().for_each(Node::kill);
        for node in &pair.nodes {
            let audit = node.json(&["audit"]);
            assert_eq!(audit["differences"].as_array().map(Vec::len), Some(0), "{audit}");
            assert_eq!(node.charged_octets(), octets, "the ledger has every octet once");
        }
        let both = [0, 1].map(|at| records(pair.folder, at));
        assert!(both[0] == both[1], "the ledgers differ: {} and {} entries", both[0].len(), both[1].len());
        assert_eq!(both[0].len() as u64, entries);
        let (records, files) = (recorded.records(), recorded.files());
        format!(
            "{requests} requests, {copies} copies, {resent} sent again, {entries} entries, {octets} octets, {records} \
             records in {files} files"
        )
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it ends at a time that nothing tells of")]
fn whoever_takes_over_has_all_that_was_answered() {
    if !nats_server::is_there() {
        return;
    }
    let kills = std::env::var("TRUNKLINE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let folder = tempfile::tempdir().unwrap();
    let mut nats = [Nats::start(folder.path())];
    let mut pair = Pair::start(folder.path(), &nats);
    pair.nodes[0].fill(CLIENTS * ACCOUNTS, BALANCE);
    let load = Load::begin(&pair);
    let mut random = Random::new(20_261_123, 1);
    let mut done = [0; 5];
    for _ in 0..kills {
        std::thread::sleep(Duration::from_millis(30 + u64::from(random.below(900))));
        let leader = pair.leader();
        let what = match random.below(10) {
            0..=5 => 0,
            6 => 1,
            7 => 2,
            8 => 3,
            _ => 4,
        };
        done[what] += 1;
        match what {
            0 => pair.again(leader),
            // Longer than the other one waits; it comes back as one that leads no more.
            1 => {
                signal(&pair.nodes[leader], Signal::STOP);
                pair.until(|pair| pair.leads(1 - leader));
                signal(&pair.nodes[leader], Signal::CONT);
            }
            2 => {
                pair.nodes[leader].json(&["switch"]);
            }
            3 => {
                nats[0].kill();
                std::thread::sleep(Duration::from_millis(u64::from(random.below(1500))));
                nats[0].again();
            }
            _ => pair.again(1 - leader),
        }
    }
    let [killed, stopped, handed, servers, followers] = done;
    let told = load.compare(pair);
    println!(
        "{killed} leaders killed, {stopped} stopped, {handed} handed over, {servers} servers and {followers} \
         followers killed: {told}"
    );
}

/// What a leader has decided that was stopped while another took over is nothing: it is cut off, and never answered.
#[test]
fn a_leader_that_was_stopped_answers_nothing_when_it_goes_on() {
    if !nats_server::is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let nats = [Nats::start(folder.path())];
    let pair = Pair::start(folder.path(), &nats);
    pair.nodes[0].fill(CLIENTS * ACCOUNTS, BALANCE);
    let load = Load::begin(&pair);
    for _ in 0..2 {
        pair.works(100);
        let leader = pair.leader();
        signal(&pair.nodes[leader], Signal::STOP);
        pair.until(|pair| pair.leads(1 - leader));
        let before = pair.entries(1 - leader).unwrap_or(0);
        pair.until(|pair| pair.entries(1 - leader).is_some_and(|entries| entries >= before + 100));
        signal(&pair.nodes[leader], Signal::CONT);
        pair.until(|pair| pair.stands_by(leader));
    }
    load.compare(pair);
}

/// A node that was lost with its disk has the same ledger and the same record files again, from the stream.
#[test]
fn a_node_that_was_lost_with_its_disk_makes_the_same_files_again() {
    if !nats_server::is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let nats = [Nats::start(folder.path())];
    let mut pair = Pair::start(folder.path(), &nats);
    pair.nodes[0].fill(CLIENTS * ACCOUNTS, BALANCE);
    let load = Load::begin(&pair);
    for _ in 0..2 {
        pair.works(300);
        let leader = pair.leader();
        pair.nodes[leader].kill();
        std::fs::remove_dir_all(folder.path().join(NAMES[leader]).join("charge")).unwrap();
        pair.again(leader);
    }
    println!("{}", load.compare(pair));
}

/// Records of a pair are sent on by whoever leads: each is with one of two gateways once, whoever is killed.
#[test]
#[expect(clippy::disallowed_methods, reason = "they are ended at times that nothing tells of")]
fn whoever_leads_sends_records_on_where_the_one_before_was() {
    if !nats_server::is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let nats = [Nats::start(folder.path())];
    let folders = ["first", "second"].map(|name| folder.path().join(name));
    let to = [2, 3].map(|last| format!("127.0.0.{last}:{}", gtpp::free_udp()));
    let gateway = |at: usize| {
        std::fs::create_dir_all(&folders[at]).unwrap();
        Node::start_with(&folders[at], &["--gtpp", &to[at]])
    };
    let mut gateways = [gateway(0), gateway(1)];
    let more = ["--cdr-send", &to[0], "--cdr-send", &to[1], "--cdr-send-from", "127.0.0.4", "--cdr-send-wait", "60"];
    let mut pair = Pair::start_as(folder.path(), &nats, "1024", more.map(str::to_owned).to_vec());
    pair.nodes[0].fill(CLIENTS * ACCOUNTS, BALANCE);
    let load = Load::begin(&pair);
    let mut random = Random::new(20_261_123, 2);
    for kill in 0..KILLS {
        std::thread::sleep(Duration::from_millis(300 + u64::from(random.below(1200))));
        let leader = pair.leader();
        match kill % 4 {
            0 | 2 => pair.again(leader),
            1 => {
                let at = (kill / 4 % 2) as usize;
                gateways[at].kill();
                std::thread::sleep(Duration::from_millis(800));
                gateways[at] = gateway(at);
            }
            _ => {
                pair.nodes[leader].json(&["switch"]);
            }
        }
    }
    let told = load.compare_after(pair, |pair| {
        // A gateway that was silent is asked again after a minute, and by a start.
        let leader = pair.leader();
        pair.again(leader);
        let (until, mut before) = (Instant::now() + PATIENCE, None);
        loop {
            let leader = pair.leader();
            let status = pair.nodes[leader].status().unwrap_or_default();
            let (records, sent) = (&status["records"], &status["records"]["sent_on"]);
            let made = status["sequence"].as_u64().is_some() && records["entry"] == status["durable"];
            let all = made && sent["packets"] == 0 && sent["waiting_octets"] == 0;
            // What is told of sending is some tenths of a second old: it has to say the same again.
            if all && before.as_ref() == Some(sent) {
                assert_eq!((&sent["refused"], &sent["gone_files"]), (&0.into(), &0.into()), "{sent}");
                break;
            }
            before = all.then(|| sent.clone());
            assert!(Instant::now() < until, "{status}");
            std::thread::sleep(Duration::from_millis(500));
        }
    });
    gateways.iter_mut().for_each(Node::stop);
    let received = folders.each_ref().map(|folder| gtpp::files(&folder.join("charge/received")));
    let counts = received.each_ref().map(Vec::len);
    let mut all = received.concat();
    all.sort();
    let mut made = Vec::new();
    for (name, file) in files(&folder.path().join(NAMES[0]).join("charge/cdr")) {
        if name.ends_with(".ber") {
            let header = trunkline_wire::cdr::file::Records::check(&file).unwrap();
            let some = trunkline_wire::cdr::file::Records::new(&file, &header);
            made.extend(some.map(|record| record.unwrap().1.to_vec()));
        }
    }
    made.sort();
    assert!(all == made, "{counts:?} records with the gateways, {} made", made.len());
    println!("{counts:?} records with the gateways: {told}");
}

/// The records in the files of received records of a node, the open one too, sorted; and the files.
fn received(folder: &Path, at: usize) -> (Vec<Vec<u8>>, BTreeMap<String, Vec<u8>>) {
    let files = files(&folder.join(NAMES[at]).join("charge/received"));
    let mut records = Vec::new();
    for file in files.values() {
        if let Ok(header) = trunkline_wire::cdr::file::FileHeader::read(file) {
            let some = trunkline_wire::cdr::file::Records::new(file, &header);
            records.extend(some.flatten().map(|(_, record)| record.to_vec()));
        }
    }
    records.sort();
    (records, files)
}

/// Records that others send to a pair are its ledger's: both nodes write them to the same files, each once, whoever is
/// killed.
#[test]
fn records_of_others_are_in_the_files_of_both_nodes_once() {
    if !nats_server::is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let nats = [Nats::start(folder.path())];
    let port = gtpp::free_udp();
    let mut pair =
        Pair::start_as(folder.path(), &nats, "1024", vec!["--gtpp".to_owned(), format!("127.0.0.{{}}:{port}")]);
    let address = |at: usize| format!("127.0.0.{}:{port}", 5 + at);
    let mut cdf = gtpp::Cdf::new(&address(0), 11);
    for kill in 0..KILLS {
        cdf.play(Duration::from_millis(200 + 90 * (kill % 5)));
        let leader = pair.leader();
        match kill % 4 {
            3 => drop(pair.nodes[leader].json(&["switch"])),
            2 => pair.again(1 - leader),
            _ => pair.again(leader),
        }
        // Its address goes with the lead.
        cdf.play(Duration::from_millis(100));
        cdf.go_to(&address(pair.leader()));
    }
    cdf.play(Duration::from_millis(500));
    cdf.finish();
    let billed = cdf.fates().filter(|(_, fate)| *fate == gtpp::Fate::Billed);
    let mut expected: Vec<Vec<u8>> = billed.map(|(record, _)| record.clone()).collect();
    expected.sort();
    assert!(expected.len() > 300 && cdf.resent > 0, "{} records, {cdf}", expected.len());
    awaited("the files of both have them", || {
        let [(one, ours), (other, theirs)] = [0, 1].map(|at| received(folder.path(), at));
        let counts = (one.len(), other.len(), expected.len());
        if one == expected && other == expected && ours == theirs { Ok(()) } else { Err(counts) }
    });
    pair.even();
    println!("{} records of others, {cdf}", expected.len());
}

/// A node that lost its disk, when the stream has not all of the ledger any more, says so. It goes on from a copy that
/// was made beside the one that leads.
#[test]
fn a_node_goes_on_from_a_copy_that_was_made_beside_the_leader() {
    if !nats_server::is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let nats = [Nats::start(folder.path())];
    // It holds what one client has written while a node takes its copy in.
    let mut pair = Pair::start_with(folder.path(), &nats, "4");
    pair.nodes[0].fill(CLIENTS * ACCOUNTS, BALANCE);
    let load = Load::begin_with(&pair, 1);
    for _ in 0..3 {
        let leader = pair.leader();
        // The stream has given up the first entries.
        let long = |status: Value| status["written_octets"].as_u64() > Some((2 * 4) << 20);
        pair.until(|pair| pair.nodes[leader].status().is_some_and(long));
        let lost = 1 - leader;
        pair.nodes[lost].kill();
        let charge = folder.path().join(NAMES[lost]).join("charge");
        std::fs::remove_dir_all(&charge).unwrap();
        node(folder.path(), (&pair.servers, &pair.more), lost, "needs a copy", pair.stream).kill();
        std::fs::remove_dir_all(&charge).unwrap();
        let to = folder.path().join(NAMES[lost]);
        let copied = pair.nodes[leader].json(&["copy", "--to", to.to_str().unwrap()]);
        assert_eq!(copied["first"], 1, "{copied}");
        assert!(copied["files"].as_u64() > Some(2), "records, too: {copied}");
        pair.again(lost);
        // It has all, from the copy and from the stream: it may lead.
        let entries = pair.entries(leader).expect("who leads");
        pair.until(|pair| pair.entries(lost) >= Some(entries));
        signal(&pair.nodes[leader], Signal::TERM);
        pair.again(leader);
    }
    println!("{}", load.compare(pair));
}
