//! Pictures by `rrdtool`: a few child processes that each draw one after the other (`rrdtool -`, rrdtool(1): REMOTE
//! CONTROL), started when they are needed, ended when they are not, fail, or take too long.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Octets of one picture; a child that says more is ended.
// Limit: size of one picture drawn by rrdtool
// Beyond: the drawing program is ended
// Seen in: `trunkline_graph_drawing_children_failed_total`
pub const PICTURE_OCTETS_MAX: usize = 16 << 20;
/// Lines of figures that stand before a picture.
const FIGURES_MAX: usize = 4096;
/// Octets of a line of figures.
const LINE_OCTETS_MAX: u64 = 64 << 10;
/// Where the system has its time zones, and the octets of a name.
const ZONES: &str = "/usr/share/zoneinfo";
const ZONE_OCTETS_MAX: usize = 64;
/// That of pictures for which none is said, or none that is known here.
const UTC: &str = "UTC";

/// How pictures are drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawingOptions {
    /// The program.
    pub program: OsString,
    /// The folder that files are named from.
    pub folder: PathBuf,
    /// Children at a time, 1 at least; who comes when all draw waits.
    pub children_max: usize,
    /// Pictures that a child draws until another takes its place: what it leaks goes with it.
    pub pictures_of_child_max: u32,
    /// How long a picture may take, the time that it waits for a child included.
    pub timeout: Duration,
}

impl DrawingOptions {
    /// As usual, for files of a folder.
    pub fn of(folder: PathBuf) -> DrawingOptions {
        DrawingOptions {
            program: "rrdtool".into(),
            folder,
            children_max: 2,
            pictures_of_child_max: 1000,
            timeout: Duration::from_secs(10),
        }
    }
}

trunkline_kit::counters! {
    /// What drawing counts.
    pub struct DrawingCounters {
        /// pictures drawn
        drawn: "trunkline_graph_pictures_total",
        /// pictures that rrdtool refused to draw
        refused: "trunkline_graph_pictures_refused_total",
        /// pictures that took too long; their child was ended
        timed_out: "trunkline_graph_pictures_timed_out_total",
        /// pictures that were not begun because all children drew for too long
        busy: "trunkline_graph_pictures_busy_overflow_total",
        /// children of rrdtool that were started
        started: "trunkline_graph_drawing_children_total",
        /// children that ended by themselves or said what is not understood
        failed: "trunkline_graph_drawing_children_failed_total",
    }
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum NotDrawn {
    /// The program is not there.
    #[error("pictures are drawn by rrdtool, which is not installed here (Debian: apt install rrdtool)")]
    Missing,
    /// It does not take the line; the text is what it says.
    #[error("rrdtool: {0}")]
    Refused(String),
    /// It took too long.
    #[error("rrdtool took longer than {0:?}")]
    Late(Duration),
    /// All children draw.
    #[error("too many pictures are being drawn")]
    Busy,
    /// A child cannot be started, ended by itself, or said what is not understood.
    #[error("rrdtool: {0}")]
    Failed(#[from] io::Error),
}

/// Draws pictures.
#[derive(Debug)]
pub struct Drawing {
    options: DrawingOptions,
    pool: Mutex<Pool>,
    free: Condvar,
}

#[derive(Debug, Default)]
struct Pool {
    idle: Vec<Drawer>,
    /// Children that draw now.
    drawing: usize,
    counters: DrawingCounters,
}

impl Drawing {
    /// Starts nothing yet.
    pub fn new(options: DrawingOptions) -> Drawing {
        Drawing { options, pool: Mutex::default(), free: Condvar::new() }
    }

    /// What happened since.
    pub fn counters(&self) -> DrawingCounters {
        self.pool().counters
    }

    /// Draws what a line says ([`crate::picture::script`]) in a time zone of this system ([`zone`]); the octets of the
    /// picture.
    ///
    /// # Errors
    /// [`NotDrawn`].
    pub fn draw(&self, line: &str, zone: &str) -> Result<Vec<u8>, NotDrawn> {
        let until = Instant::now() + self.options.timeout;
        let mut place = Place { drawing: self, drawer: self.turn(until, zone)? };
        let mut drawer = match place.drawer.take() {
            Some(drawer) => drawer,
            None => self.start(zone)?,
        };
        let drawn = drawer.draw(line, until);
        self.count(&drawn);
        // One that was late or broke would answer the next line with this picture.
        let is_good = matches!(drawn, Ok(_) | Err(NotDrawn::Refused(_)));
        if is_good && drawer.drawn < self.options.pictures_of_child_max {
            place.drawer = Some(drawer);
        }
        drawn.map_err(|error| match error {
            NotDrawn::Late(_) => NotDrawn::Late(self.options.timeout),
            error => error,
        })
    }

    fn pool(&self) -> std::sync::MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until fewer draw than may; an idle child of that zone, if there is one. Where there are as many children
    /// as can be, one of another zone ends for it.
    fn turn(&self, until: Instant, zone: &str) -> Result<Option<Drawer>, NotDrawn> {
        let most = self.options.children_max.max(1);
        let left = until.saturating_duration_since(Instant::now());
        let waited = self.free.wait_timeout_while(self.pool(), left, |pool| pool.drawing >= most);
        let (mut pool, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if pool.drawing >= most {
            pool.counters.busy += 1;
            return Err(NotDrawn::Busy);
        }
        pool.drawing += 1;
        if let Some(at) = pool.idle.iter().position(|drawer| drawer.zone == zone) {
            return Ok(Some(pool.idle.swap_remove(at)));
        }
        let other = (pool.drawing + pool.idle.len() > most && !pool.idle.is_empty()).then(|| pool.idle.remove(0));
        drop(pool);
        drop(other);
        Ok(None)
    }

    fn start(&self, zone: &str) -> Result<Drawer, NotDrawn> {
        let drawer = Drawer::start(&self.options, zone);
        let mut pool = self.pool();
        match &drawer {
            Ok(_) => pool.counters.started += 1,
            Err(_) => pool.counters.failed += 1,
        }
        drawer
    }

    fn count(&self, drawn: &Result<Vec<u8>, NotDrawn>) {
        let counters = &mut self.pool().counters;
        *match drawn {
            Ok(_) => &mut counters.drawn,
            Err(NotDrawn::Refused(_)) => &mut counters.refused,
            Err(NotDrawn::Late(_)) => &mut counters.timed_out,
            Err(_) => &mut counters.failed,
        } += 1;
    }
}

/// A place among those that draw, given back whatever happens.
struct Place<'d> {
    drawing: &'d Drawing,
    drawer: Option<Drawer>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut pool = self.drawing.pool();
        pool.drawing -= 1;
        pool.idle.extend(self.drawer.take());
        drop(pool);
        self.drawing.free.notify_one();
    }
}

/// The time zone of this name, if the system has it; else UTC. `rrdtool` reads the system's, and takes a name that is
/// not there for UTC without a word.
pub fn zone(name: Option<&str>) -> &str {
    let is_name = |name: &&str| {
        let is_part =
            |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_+-".contains(&b));
        name.len() <= ZONE_OCTETS_MAX && name.split('/').all(is_part)
    };
    name.filter(is_name).filter(|name| PathBuf::from(ZONES).join(name).is_file()).unwrap_or(UTC)
}

/// One child.
#[derive(Debug)]
struct Drawer {
    zone: String,
    child: Child,
    says: Option<ChildStdin>,
    answers: Receiver<io::Result<Answer>>,
    drawn: u32,
}

#[derive(Debug)]
enum Answer {
    Picture(Vec<u8>),
    Refused(String),
}

impl Drawer {
    fn start(options: &DrawingOptions, zone: &str) -> Result<Drawer, NotDrawn> {
        let child = Command::new(&options.program)
            .arg("-")
            .current_dir(&options.folder)
            .env("TZ", zone)
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if options.folder.is_dir() => NotDrawn::Missing,
            _ => NotDrawn::Failed(error),
        })?;
        let (says, hears) = (child.stdin.take(), child.stdout.take());
        // An answer waits at most: the child draws one after the other.
        let (tell, answers) = sync_channel(1);
        let mut drawer = Drawer { zone: zone.to_owned(), child, says, answers, drawn: 0 };
        let hears = hears.ok_or_else(|| io::Error::other("it has no output"))?;
        let hear = move || {
            let mut hears = BufReader::new(hears);
            while tell.send(answer(&mut hears)).is_ok() {}
        };
        if let Err(error) = std::thread::Builder::new().name("graph-drawing".to_owned()).spawn(hear) {
            drawer.end();
            return Err(NotDrawn::Failed(error));
        }
        Ok(drawer)
    }

    fn draw(&mut self, line: &str, until: Instant) -> Result<Vec<u8>, NotDrawn> {
        let says = self.says.as_mut().ok_or_else(|| io::Error::other("it has no input"))?;
        says.write_all(format!("{line}\n").as_bytes())?;
        says.flush()?;
        self.drawn += 1;
        match self.answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Ok(Answer::Picture(octets))) => Ok(octets),
            Ok(Ok(Answer::Refused(why))) => Err(NotDrawn::Refused(why)),
            Ok(Err(error)) => Err(NotDrawn::Failed(error)),
            Err(RecvTimeoutError::Timeout) => Err(NotDrawn::Late(Duration::ZERO)),
            Err(RecvTimeoutError::Disconnected) => Err(NotDrawn::Failed(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    fn end(&mut self) {
        // One that has ended already is as it should be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Drawer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Figures, `image = BLOB_SIZE:n` and a picture, then `OK`; or `ERROR:` and why.
fn answer(hears: &mut BufReader<ChildStdout>) -> io::Result<Answer> {
    let mut picture = None;
    for _ in 0..FIGURES_MAX {
        let mut line = Vec::new();
        if hears.take(LINE_OCTETS_MAX).read_until(b'\n', &mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if let Some(why) = line.strip_prefix("ERROR: ") {
            return Ok(Answer::Refused(why.to_owned()));
        }
        if line.starts_with("OK u:") {
            let nothing = || Answer::Refused("it drew nothing".to_owned());
            return Ok(picture.map_or_else(nothing, Answer::Picture));
        }
        if let Some(octets) = line.strip_prefix("image = BLOB_SIZE:") {
            let octets: usize = octets.trim().parse().map_err(io::Error::other)?;
            if octets > PICTURE_OCTETS_MAX {
                return Err(io::Error::other(format!("a picture of {octets} octets, {PICTURE_OCTETS_MAX} can be")));
            }
            let mut blob = vec![0; octets];
            hears.read_exact(&mut blob)?;
            picture = Some(blob);
        }
    }
    Err(io::Error::other(format!("more than {FIGURES_MAX} lines of figures")))
}
