//! OpenLDAP's server as the tests need it: a folder with configuration and entries, processes on ports of their own.

use std::fmt::Write as _;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

use crate::eventually::awaited;
use crate::ports::free_port;

/// Who may do everything, and with which password.
pub const ADMIN: &str = "cn=admin,dc=example";
pub const SECRET: &str = "let me in";
const SCHEMAS: &str = "/etc/ldap/schema";

/// A program of the package, where it is installed.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    folders.map(|folder| folder.join(name)).find(|file| file.exists())
}

/// Whether there is a server to test against; if not, that is told.
pub fn is_installed() -> bool {
    let is_installed = program("slapd").is_some() && program("slapadd").is_some() && Path::new(SCHEMAS).exists();
    if !is_installed {
        assert!(std::env::var_os("CI").is_none(), "slapd is not installed");
        println!("SKIPPED: slapd is not installed");
    }
    is_installed
}

/// A subscriber, as the LDIF says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscriber {
    pub uid: String,
    pub mobile: String,
    pub imsi: String,
    pub plan: String,
    pub credit: String,
}

impl Subscriber {
    pub fn number(number: usize) -> Subscriber {
        Subscriber {
            uid: format!("s{number:06}"),
            mobile: format!("4477{number:08}"),
            imsi: format!("23415{number:010}"),
            plan: ["gold", "silver", "lead"][number % 3].to_owned(),
            credit: (number * 7919 % 100_000).to_string(),
        }
    }

    fn ldif(&self, out: &mut String) {
        let Subscriber { uid, mobile, imsi, plan, credit } = self;
        write!(
            out,
            "dn: uid={uid},ou=people,dc=example\nobjectClass: inetOrgPerson\nuid: {uid}\ncn: {uid}\nsn: {uid}\n\
            mobile: {mobile}\nemployeeNumber: {imsi}\nemployeeType: {plan}\ndepartmentNumber: {credit}\n\n"
        )
        .expect("a string takes all");
    }
}

/// The subscribers of an LDIF, which is the truth: read back from its text.
pub fn subscribers(ldif: &str) -> Vec<Subscriber> {
    let person = |entry: &str| {
        let value = |name: &str| entry.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        Some(Subscriber {
            uid: value("uid: ")?,
            mobile: value("mobile: ")?,
            imsi: value("employeeNumber: ")?,
            plan: value("employeeType: ")?,
            credit: value("departmentNumber: ")?,
        })
    };
    ldif.split("\n\n").filter_map(person).collect()
}

/// The root, the people, and so many subscribers.
pub fn ldif(subscribers: usize) -> String {
    let mut out = "dn: dc=example\nobjectClass: domain\ndc: example\n\n\
        dn: ou=people,dc=example\nobjectClass: organizationalUnit\nou: people\n\n"
        .to_owned();
    (0..subscribers).for_each(|number| Subscriber::number(number).ldif(&mut out));
    out
}

/// Entries on disk that servers are started on.
pub struct Tree {
    folder: TempDir,
    pub ldif: String,
}

impl Tree {
    pub fn new(ldif: String) -> Tree {
        Tree::with(ldif, "")
    }

    /// With more lines of configuration in front of the database.
    pub fn with(ldif: String, lines: &str) -> Tree {
        let folder = TempDir::new().expect("a folder");
        let at = folder.path().display();
        let includes: String =
            ["core", "cosine", "inetorgperson"].map(|name| format!("include {SCHEMAS}/{name}.schema\n")).concat();
        let configuration = format!(
            "{includes}modulepath /usr/lib/ldap\nmoduleload back_mdb\nthreads 4\nsizelimit 500\n\
            {lines}\ndatabase mdb\nmaxsize 1073741824\nenvflags nosync\nsuffix dc=example\n\
            rootdn {ADMIN}\nrootpw \"{SECRET}\"\ndirectory {at}/entries\n\
            index objectClass,uid,mobile,employeeNumber eq\n\
            access to attrs=userPassword by self write by anonymous auth by * none\n\
            access to * by self write by * read\n"
        );
        std::fs::create_dir(folder.path().join("entries")).expect("a folder");
        std::fs::write(folder.path().join("slapd.conf"), configuration).expect("a file");
        std::fs::write(folder.path().join("entries.ldif"), &ldif).expect("a file");
        // Where AppArmor confines the server by its path, it may not read the test's folder: a copy is not confined. A
        // process of its own makes it: a descriptor of ours that writes could go to what another test starts meanwhile,
        // and what is written to does not run.
        for name in ["slapd", "slapadd"] {
            let from = program(name).expect("it is installed");
            let copied = Command::new("cp").arg(from).arg(folder.path().join(name)).status().expect("cp runs");
            assert!(copied.success(), "{name} is not copied");
        }
        let tree = Tree { folder, ldif };
        let loading = Command::new(tree.path("slapadd"))
            .args(["-q", "-f"])
            .arg(tree.path("slapd.conf"))
            .arg("-l")
            .arg(tree.path("entries.ldif"))
            .output()
            .expect("slapadd runs");
        assert!(loading.status.success(), "slapadd: {}", String::from_utf8_lossy(&loading.stderr));
        tree
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn serve(&self) -> Server {
        self.serve_as("ldap")
    }

    pub fn serve_as(&self, scheme: &str) -> Server {
        // Somebody else may take the port between: then the server does not start, and another one is tried.
        (0..10).find_map(|_| Server::start(self, scheme, free_port())).expect("a server")
    }
}

/// Processor time that a process has had in user and system mode (proc(5)); none if it has ended.
#[allow(dead_code, reason = "only what measures asks for it")]
pub fn processor_seconds(id: u32) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks: f64 = fields.next()?.parse::<f64>().ok()? + fields.next()?.parse::<f64>().ok()?;
    Some(ticks / rustix::param::clock_ticks_per_second() as f64)
}

/// A server on its port; it ends with this.
pub struct Server {
    child: Child,
    folder: PathBuf,
    scheme: String,
    pub port: u16,
}

impl Server {
    fn start(tree: &Tree, scheme: &str, port: u16) -> Option<Server> {
        Self::run(tree.folder.path().to_owned(), scheme.to_owned(), port)
    }

    fn run(folder: PathBuf, scheme: String, port: u16) -> Option<Server> {
        let child = Command::new(folder.join("slapd"))
            .args(["-d", "0", "-h", &format!("{scheme}://127.0.0.1:{port}"), "-f"])
            .arg(folder.join("slapd.conf"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("slapd runs");
        let mut server = Server { child, folder, scheme, port };
        server.is_ready().then_some(server)
    }

    fn is_ready(&mut self) -> bool {
        awaited("slapd listens, or has ended", || match TcpStream::connect(("127.0.0.1", self.port)) {
            Ok(_) => Ok(true),
            Err(_) if self.child.try_wait().expect("its state").is_some() => Ok(false),
            Err(why) => Err(why),
        })
    }

    /// Processor time that it has had.
    #[allow(dead_code, reason = "only what measures asks for it")]
    pub fn processor_seconds(&self) -> f64 {
        processor_seconds(self.child.id()).expect("it runs")
    }

    pub fn url(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.port)
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).expect("it is there");
    }

    /// It stands still until it goes on; all of its threads do when this returns.
    pub fn stop(&self) {
        self.signal(rustix::process::Signal::STOP);
        let id = rustix::process::Pid::from_child(&self.child);
        let stopped = rustix::process::waitpid(Some(id), rustix::process::WaitOptions::UNTRACED).expect("its state");
        assert!(stopped.is_some_and(|(_, status)| status.stopped()), "it stands still");
    }

    pub fn go_on(&self) {
        self.signal(rustix::process::Signal::CONT);
    }

    pub fn kill(&mut self) {
        self.child.kill().expect("it is there");
        self.child.wait().expect("it has ended");
    }

    /// On the same port.
    pub fn restart(&mut self) {
        let again = Self::run(self.folder.clone(), self.scheme.clone(), self.port);
        *self = again.expect("its port is free still");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
