//! Asks a server of memcached's text protocol for its figures, over a connection that is kept.

use super::answer::{Answer, Stat, UNKNOWN_GROUP};
use super::target::{Stream, Target};
use super::told::{self, Told};
use crate::run::now_ns;
use std::time::{Duration, Instant};
use trunkline_web::sources::CacheSnapshot;

/// How long to wait for the connection, and for a whole answer.
pub const PATIENCE: Duration = Duration::from_secs(3);
/// How often a server is asked for what takes it longer to tell: sizes and classes.
const SELDOM: Duration = Duration::from_secs(30);

/// A server and the connection to it.
pub struct Asker {
    target: Target,
    stream: Option<Box<dyn Stream>>,
    told: Told,
    seldom: Option<Instant>,
}

impl Asker {
    /// Of a server that is asked first when it is looked at.
    pub fn new(target: Target) -> Self {
        Asker { target, stream: None, told: Told::default(), seldom: None }
    }

    /// Whom it asks.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// How it stands. A server that does not know our own groups is not asked for them again on this connection.
    ///
    /// # Errors
    /// Why it cannot be looked at: the connection is made anew the next time.
    pub fn look(&mut self) -> Result<CacheSnapshot, String> {
        let looked = self.look_once();
        if looked.is_err() {
            self.stream = None;
        }
        looked
    }

    fn look_once(&mut self) -> Result<CacheSnapshot, String> {
        if self.stream.is_none() {
            self.stream = Some(self.target.connect(PATIENCE).map_err(told_of)?);
            (self.told, self.seldom) = (Told::default(), None);
            self.told.settings = self.ask("settings")?.unwrap_or_default();
        }
        self.told.general = self.ask("")?.unwrap_or_default();
        if self.told.hot_keys.is_some() {
            self.told.hot_keys = self.ask("hotkeys")?;
        }
        if self.told.slow_commands.is_some() {
            self.told.slow_commands = self.ask("slow")?;
        }
        if self.seldom.is_none_or(|asked| asked.elapsed() >= SELDOM) {
            self.told.items = self.ask("items")?.unwrap_or_default();
            self.told.sizes = self.ask("sizes")?.unwrap_or_default();
            self.seldom = Some(Instant::now());
        }
        Ok(told::snapshot(&self.told, now_ns()))
    }

    /// A group; none where the server does not know it.
    fn ask(&mut self, group: &str) -> Result<Option<Vec<Stat>>, String> {
        let Some(stream) = &mut self.stream else { return Ok(None) };
        match ask(stream.as_mut(), &self.target, group) {
            Err(why) if why.ends_with(UNKNOWN_GROUP) => Ok(None),
            other => other.map(Some),
        }
    }
}

/// Asks for a group; `""` is the general one.
///
/// # Errors
/// Why there is no answer, with whom it was that should have given it.
pub fn ask(stream: &mut dyn Stream, target: &Target, group: &str) -> Result<Vec<Stat>, String> {
    let wrong = |why: String| format!("{target}: {why}");
    let request = format!("stats {group}");
    let request = format!("{}\r\n", request.trim_end());
    stream.write_all(request.as_bytes()).map_err(|e| told_of(target.failure(&e)))?;
    let (mut answer, mut room, until) = (Answer::default(), [0; 16_384], Instant::now() + PATIENCE);
    loop {
        match stream.read(&mut room).map_err(|e| told_of(target.failure(&e)))? {
            0 => return Err(wrong("closed the connection before the answer was whole".to_owned())),
            octets => {
                if let Some(stats) = answer.push(&room[..octets]).map_err(wrong)? {
                    return Ok(stats);
                }
            }
        }
        if Instant::now() > until {
            return Err(wrong("its answer takes too long".to_owned()));
        }
    }
}

/// The words of a failure.
fn told_of(failure: crate::failure::Failure) -> String {
    match failure {
        crate::failure::Failure::Failed(why)
        | crate::failure::Failure::Usage(why)
        | crate::failure::Failure::Damaged(why) => why,
        crate::failure::Failure::NobodyReads => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::configured;
    use crate::run::config::{Cache, Door};
    use std::io::Write as _;
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;

    #[test]
    fn a_server_of_ours_tells_everything() {
        let section = Cache { listen: vec![Door::Tcp("127.0.0.1:0".parse().unwrap())], threads: 1, ..Cache::default() };
        let job = configured::start(configured::open(&section).unwrap().unwrap(), &section).unwrap();
        let mut asker = Asker::new(job.addresses()[0].unwrap().to_string().parse().unwrap());
        let before = asker.look().unwrap();
        assert_eq!((before.gets_total, before.items, before.connections), (Some(0), Some(0), Some(1)));
        let mut stream = asker.target().connect(PATIENCE).unwrap();
        stream.write_all(b"set a 0 0 1\r\nx\r\nget a b\r\n").unwrap();
        let mut said = BufReader::new(stream);
        let mut line = String::new();
        while !line.starts_with("END") {
            line.clear();
            said.read_line(&mut line).unwrap();
        }
        let now = asker.look().unwrap();
        assert_eq!((now.gets_total, now.hits_total, now.sets_total), (Some(2), Some(1), Some(1)));
        assert_eq!((now.connections_total, now.limit_octets), (Some(2), Some(64 << 20)), "the connection is kept");
        assert!(now.hot_keys.is_some() && now.slow_commands.is_some());
        job.stop().unwrap();
        assert!(asker.look().is_err(), "it has gone");
    }

    /// Answers each line as it is told to, on one connection after the other.
    fn answering(answer: fn(&str) -> &'static str) -> Target {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let _ = lines.try_for_each(|line| (&stream).write_all(answer(&line).as_bytes()));
            }
        });
        at.parse().unwrap()
    }

    #[test]
    fn a_plain_memcached_tells_less_and_that_is_no_trouble() {
        let target = answering(|line| match line {
            "stats" => "STAT cmd_get 7\r\nSTAT get_hits 5\r\nSTAT version 1.6.18\r\nEND\r\n",
            "stats settings" => "STAT maxconns 1024\r\nEND\r\n",
            "stats items" => "END\r\n",
            "stats sizes" => "STAT sizes_status disabled\r\nEND\r\n",
            _ => "ERROR\r\n",
        });
        let mut asker = Asker::new(target);
        for _ in 0..2 {
            let told = asker.look().unwrap();
            assert_eq!((told.gets_total, told.version.as_str()), (Some(7), "1.6.18"));
            assert_eq!((told.hot_keys, told.slow_commands, told.sizes), (None, None, None));
            assert_eq!(told.connections_max, Some(1024));
        }
    }

    #[test]
    fn who_is_no_cache_is_told() {
        let mut asker = Asker::new(answering(|_| "HTTP/1.1 400 Bad Request\r\n\r\n"));
        assert!(asker.look().unwrap_err().contains("does not speak memcached's text protocol"));
    }
}
