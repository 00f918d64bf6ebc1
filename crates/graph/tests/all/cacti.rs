//! What comes from Cacti itself: the templates of Debian's package, and its database in a real MariaDB, dumped by
//! mariadb-dump. `scripts/setup test` unpacks the one into target/tools/cacti and installs the other.
//!
//! Test group: waits: for a database server.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use trunkline_graph::cacti::{DumpReader, Import, Options, Tables, convert, exchange};
use trunkline_graph::inventory::{Entry, Inventory, NodeKind};
use trunkline_graph::template::{built_in, expand, read, write};

fn package() -> Option<PathBuf> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/cacti");
    let there = package.join("usr/share/doc/cacti/cacti.sql").exists();
    if !there {
        eprintln!("SKIPPED: Cacti's package is not unpacked into target/tools/cacti: scripts/setup test");
    }
    there.then_some(package)
}

/// The packages of templates that come with Cacti 1.2.
fn templates() -> Vec<(String, String)> {
    let Some(package) = package() else { return Vec::new() };
    let mut found = Vec::new();
    for file in std::fs::read_dir(package.join("usr/share/cacti/site/install/templates")).unwrap().flatten() {
        let (mut text, name) = (String::new(), file.file_name().to_string_lossy().into_owned());
        if name.ends_with(".xml.gz") {
            let packed = std::fs::File::open(file.path()).unwrap();
            flate2::read::GzDecoder::new(packed).read_to_string(&mut text).unwrap();
            found.push((name, text));
        }
    }
    found.sort();
    found
}

fn of_package(text: &str) -> Import {
    let read = exchange(text).unwrap();
    let options = Options { path_cacti: "/cacti".to_owned(), queries: read.queries };
    convert(&read.tables, &options, &Inventory::default())
}

#[test]
fn templates_that_come_with_cacti() {
    let (mut graphs, mut of, mut devices) = (0, 0, 0);
    for (name, text) in templates() {
        let import = of_package(&text);
        let told: String = import.told.keys().map(|told| format!("{told}\n")).collect();
        let unsound = |line: &str| line.contains("template '") && line.contains("' is not imported: ");
        assert!(!told.lines().any(unsound), "{name}: {told}");
        let again = read(&[("t.toml", &write(&import.library))], built_in::library());
        assert_eq!(again.as_ref(), Ok(&import.library));
        // Each graph template of the package is there, or it is told why not.
        let read = exchange(&text).unwrap();
        for title in read.graph_templates() {
            let slug: String = title.to_lowercase().chars().filter(char::is_ascii_alphanumeric).take(30).collect();
            let plain = |name: &String| name.strip_prefix("cacti-").unwrap_or(name).replace('-', "");
            let there = import.library.graphs.keys().any(|name| plain(name).starts_with(&slug));
            assert!(there || told.contains(&format!("'{title}' shows no series")), "{name}: {title}\n{told}");
            of += 1;
        }
        graphs += import.library.graphs.len();
        devices += import.library.devices.len();
    }
    if of > 0 {
        println!("{graphs} of {of} graph templates");
        assert!(of > 200 && graphs * 100 >= of * 85 && devices > 10, "{graphs} of {of}, {devices}");
    }
}

#[test]
fn interfaces_of_cacti_read_what_ours_read() {
    let templates = templates();
    let Some((_, text)) = templates.iter().find(|(name, _)| name.starts_with("Generic_SNMP")) else { return };
    let import = of_package(text);
    let traffic = &import.library.data["cacti-interface-traffic"];
    let ours = &built_in::library().data["interface-traffic"];
    let read = |series: &[trunkline_graph::template::Series]| -> Vec<_> {
        series.iter().map(|series| (series.name.clone(), series.kind, series.read.clone())).collect()
    };
    assert_eq!(read(&traffic.series), read(&ours.series));
    let table = &import.library.tables[traffic.table.as_ref().unwrap()];
    assert_eq!(table.names, built_in::library().tables["interfaces"].names);
}

#[test]
fn rrdtool_takes_the_expressions_of_cactis_templates() {
    if Command::new("rrdtool").output().is_err() {
        eprintln!("SKIPPED: rrdtool is not there: apt-get install rrdtool");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let rrdtool = |arguments: &[String]| Command::new("rrdtool").args(arguments).current_dir(folder.path()).output();
    let made = "create t.rrd --start 1700000040 --step 60 DS:a:GAUGE:120:U:U RRA:AVERAGE:0.5:1:10";
    rrdtool(&made.split(' ').map(str::to_owned).collect::<Vec<_>>()).unwrap();
    let mut computed = 0;
    for (file, text) in templates() {
        for (name, graph) in of_package(&text).library.graphs {
            let filled = |text: &str| expand(text, |_| Some("1000"));
            let mut arguments: Vec<String> =
                ["graph", "-", "--start", "1700000040", "--end", "1700000220"].map(str::to_owned).to_vec();
            arguments.extend(graph.definitions.iter().map(|d| format!("DEF:{}=t.rrd:a:AVERAGE", d.name)));
            arguments.extend(graph.computed.iter().map(|c| format!("CDEF:{}={}", c.name, filled(&c.text))));
            arguments.extend(graph.values.iter().map(|v| format!("VDEF:{}={}", v.name, v.text)));
            arguments.extend(graph.definitions.first().map(|d| format!("LINE1:{}#ff0000", d.name)));
            arguments.extend(graph.computed.iter().map(|c| format!("LINE1:{}#ff0000", c.name)));
            let told = rrdtool(&arguments).unwrap();
            assert!(told.status.success(), "{file}: {name}: {}", String::from_utf8_lossy(&told.stderr));
            computed += graph.computed.len();
        }
    }
    assert!(computed > 30 || package().is_none(), "{computed}");
}

/// A server of this test alone, on a socket in a folder of its own.
struct Server {
    folder: tempfile::TempDir,
    child: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Requests that the kernel handles by itself are few for all of a machine, and other tests have some.
const NO_AIO: &str = "--innodb-use-native-aio=0";

impl Server {
    fn new() -> Option<Server> {
        let there = |program: &str| Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok();
        let daemon = ["mariadbd", "/usr/sbin/mariadbd"].into_iter().find(|program| there(program));
        let Some(daemon) = daemon.filter(|_| there("mariadb-install-db") && there("mariadb-dump")) else {
            eprintln!("SKIPPED: MariaDB is not there: apt-get install mariadb-server mariadb-client");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let done = |command: &mut Command| {
            let done = command.output().unwrap();
            let said = [done.stdout, done.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
            assert!(done.status.success(), "{command:?}: {said:?}");
        };
        done(Command::new("mariadb-install-db").args([
            "--no-defaults",
            NO_AIO,
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            &format!("--datadir={}", path("data")),
        ]));
        let child = Command::new(daemon)
            .args(["--no-defaults", NO_AIO, "--skip-networking", "--user=root", "--sql-mode="])
            .args([format!("--datadir={}", path("data")), format!("--socket={}", path("s"))])
            .args([format!("--pid-file={}", path("pid")), "--innodb-buffer-pool-size=16M".to_owned()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Server { folder, child };
        done(server.client("mariadb-admin").args(["--wait=60", "--connect-timeout=60", "ping"]));
        Some(server)
    }

    fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(["--no-defaults", "--user=root", "--default-character-set=utf8mb4"]);
        command.arg(format!("--socket={}", self.folder.path().join("s").display()));
        command
    }

    fn ask(&self, sql: &str) -> String {
        let mut client = self.client("mariadb");
        let mut child = client.args(["--batch", "--skip-column-names", "--database=cacti"]).stdin(Stdio::piped());
        child = child.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        child.stdin.take().unwrap().write_all(sql.as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    fn dump(&self, options: &[&str]) -> Vec<u8> {
        let done = self.client("mariadb-dump").args(options).arg("cacti").output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        done.stdout
    }

    fn made(&self) {
        let done = self.client("mariadb").args(["-e", "CREATE DATABASE cacti CHARACTER SET utf8mb4"]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
}

const DUMPS: [&[&str]; 4] = [
    &[],
    &["--skip-extended-insert", "--complete-insert"],
    &["--hex-blob", "--compact"],
    &["--replace", "--no-create-info", "--complete-insert"],
];

/// Each value is read as the server itself has it, however it was dumped.
#[test]
fn values_of_a_dump_are_those_of_the_server() {
    let Some(server) = Server::new() else { return };
    server.made();
    server.ask("CREATE TABLE odd (id INT, t TEXT, b BLOB, d DOUBLE, `a``b` TEXT)");
    let texts = [
        "'it''s'",
        "'a\\\\'",
        "'\\\\''); DROP'",
        "'\\n\\r\\t\\0\\Z'",
        "NULL",
        "''",
        "'\"quoted\"'",
        "'é 漢 🎈'",
        "'-- no /* comment */ # here'",
        "'a,b;(c)`d`'",
        "'\\\\n'",
        "'%_\\%'",
    ];
    for (id, text) in texts.iter().enumerate() {
        let octets: String = (0..64).map(|at| format!("{:02x}", (id * 64 + at * 7) % 256)).collect();
        server.ask(&format!("INSERT INTO odd VALUES ({id}, {text}, x'{octets}', -1.5e-7, {text})"));
    }
    let wanted = server.ask("SELECT id, HEX(t), HEX(b), HEX(`a``b`) FROM odd ORDER BY id");
    for options in DUMPS {
        let (mut reader, mut found) = (DumpReader::default(), String::new());
        for piece in server.dump(options).chunks(13) {
            reader.feed(piece, |row| {
                let hex = |name: &str| {
                    let place = row.columns.iter().position(|column| column == name).unwrap_or(match name {
                        "id" => 0,
                        "t" => 1,
                        "b" => 2,
                        _ => 4,
                    });
                    match &row.values[place] {
                        Some(octets) => octets.iter().map(|octet| format!("{octet:02X}")).collect(),
                        None => "NULL".to_owned(),
                    }
                };
                let id = String::from_utf8(row.values[0].clone().unwrap()).unwrap();
                found.push_str(&format!("{id}\t{}\t{}\t{}\n", hex("t"), hex("b"), hex("a`b")));
            });
        }
        assert_eq!(reader.end(), (texts.len() as u64, 0), "{options:?}");
        assert_eq!(found, wanted, "{options:?}");
    }
}

/// A small installation in the schema of Cacti 1.2 as Debian has it.
fn filled(server: &Server, package: &Path) {
    server.made();
    server.ask(&std::fs::read_to_string(package.join("usr/share/doc/cacti/cacti.sql")).unwrap());
    let mut sql = String::from("SET sql_mode='';\n");
    let mut reader = DumpReader::default();
    let known: BTreeSet<String> = server
        .ask("SELECT CONCAT(table_name, '.', column_name) FROM information_schema.columns WHERE table_schema='cacti'")
        .lines()
        .map(str::to_owned)
        .collect();
    reader.feed(include_bytes!("../../src/cacti/tests/old.sql"), |row| {
        if ["graph_tree_items", "user_auth", "colors", "vdef", "vdef_items", "cdef", "cdef_items"].contains(&row.table)
        {
            return;
        }
        let both = row.columns.iter().zip(row.values);
        let both: Vec<_> = both.filter(|(name, _)| known.contains(&format!("{}.{name}", row.table))).collect();
        if both.is_empty() {
            return;
        }
        let names: Vec<String> = both.iter().map(|(name, _)| format!("`{name}`")).collect();
        let hex = |octets: &[u8]| octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>();
        let values =
            both.iter().map(|(_, value)| value.as_ref().map_or("NULL".to_owned(), |v| format!("x'{}'", hex(v))));
        let values: Vec<String> = values.map(|value| if value == "x''" { "''".to_owned() } else { value }).collect();
        sql.push_str(&format!("REPLACE INTO `{}` ({}) VALUES ({});\n", row.table, names.join(","), values.join(",")));
    });
    // What 1.2 has in other places.
    sql.push_str(
        "UPDATE data_template_data SET data_source_profile_id = 1;
         UPDATE host SET site_id = 1, location = 'rack 1', snmp_sysObjectID = '.1.3.6.1.4.1.9.1.516' WHERE id = 1;
         REPLACE INTO sites (id, name, city, latitude, longitude) VALUES (1, 'Amsterdam', 'Amsterdam', 52.3, 4.9);
         UPDATE graph_templates_item SET vdef_id = 7 WHERE vdef_id > 0;
         INSERT INTO graph_tree_items
           (id, parent, position, graph_tree_id, title, host_id, local_graph_id, site_id) VALUES
           (11, 0, 1, 1, 'North', 0, 0, 0), (12, 11, 2, 1, '', 1, 0, 0), (10, 11, 1, 1, '', 0, 1, 0),
           (13, 0, 2, 1, '', 0, 0, 1);",
    );
    server.ask(&sql);
}

#[test]
fn an_installation_of_cacti_1_2() {
    let (Some(package), Some(server)) = (package(), Server::new()) else { return };
    filled(&server, &package);
    let mut first: Option<Import> = None;
    for options in DUMPS {
        let (mut reader, mut tables) = (DumpReader::default(), Tables::default());
        for piece in server.dump(options).chunks(65_536) {
            reader.feed(piece, |row| tables.take(row));
        }
        assert_eq!(reader.end().1, 0, "{options:?}");
        let import = convert(&tables, &Options::default(), &Inventory::default());
        match &first {
            Some(first) => assert_eq!((&import.changes, &import.files), (&first.changes, &first.files), "{options:?}"),
            None => first = Some(import),
        }
    }
    let import = first.unwrap();
    let mut inventory = Inventory::default();
    for entry in Entry::of_changes(1, 0, "import", import.changes.clone()) {
        assert_eq!(inventory.apply(&entry), Ok(()));
    }
    let count = |sql: &str| server.ask(sql).trim().parse::<usize>().unwrap();
    assert_eq!(inventory.devices().len(), count("SELECT COUNT(*) FROM host"));
    // One is of a device that is gone.
    assert_eq!(import.files.len(), count("SELECT COUNT(*) FROM data_local") - 1);
    let paths: BTreeSet<&str> = import.files.iter().map(|file| file.path.as_str()).collect();
    let wanted = server.ask("SELECT data_source_path FROM data_template_data WHERE local_data_id BETWEEN 1 AND 5");
    assert_eq!(paths, wanted.lines().collect());
    let profile = &import.library.profiles[&import.library.data["cacti-interface-traffic"].profile];
    let step = server.ask("SELECT step, heartbeat FROM data_source_profiles WHERE id = 1");
    assert_eq!(format!("{}\t{}\n", profile.step, profile.heartbeat.unwrap()), step);
    let rows = "SELECT steps, `rows` FROM data_source_profiles_rra WHERE data_source_profile_id = 1 ORDER BY id";
    let archives = profile.archives(profile.step);
    let archives: String = archives.iter().map(|(steps, rows)| format!("{steps}\t{rows}\n")).collect();
    assert_eq!(archives, server.ask(rows));
    let edge = inventory.devices().get(inventory.device_named("edge-1").unwrap()).unwrap();
    assert_eq!(inventory.sites().get(edge.site.unwrap()).map(|site| &*site.name), Some("Amsterdam"));
    let tree = inventory.trees().iter().next().unwrap().0;
    let top = inventory.children(tree, None);
    let inner = inventory.children(tree, Some(top[0]));
    let kinds: Vec<&NodeKind> = inner.iter().map(|id| &inventory.nodes().get(*id).unwrap().kind).collect();
    assert!(matches!(kinds[..], [NodeKind::Graph { .. }, NodeKind::Device { .. }]), "{kinds:?}");
    let titles: Vec<String> = inventory.graphs().iter().map(|(id, _)| inventory.title(&import.library, id)).collect();
    assert_eq!(titles, ["edge-1 - Traffic - Gi0/1", "edge-1 - to core, by hand", "edge-1 - Load"]);
}
