//! A node that takes part: it joins the stream, follows it, and stands for the lead.

use crate::connection::{Connection, Dial};
use crate::follower::{Brought, Follower};
use crate::jetstream::{Extent, Failed, Published};
use crate::lead::{Leader, Progress, Reign};
use crate::message::{Message, ROOM_OCTETS_MIN, leader};
use crate::options::Options;
use crate::publisher::Publisher;
use crate::search::Search;
use crate::terms::Terms;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use thiserror::Error;
use tokio::runtime::Runtime;

/// Octets of a message that we publish.
const MESSAGE_OCTETS_MAX: usize = 256 << 10;
/// Of what the server takes, so much is left for the head.
const HEAD_OCTETS: usize = 512;
/// Messages that are asked for at a time.
const WINDOW_MAX: usize = 64;
/// How long a follower waits at the end of the stream until it looks again.
const POLL: Duration = Duration::from_millis(20);
/// How often it asks there whether that is the end.
const LOOK: Duration = Duration::from_millis(500);
/// How long it waits after a failure.
const AGAIN: Duration = Duration::from_millis(200);

/// What keeps a node from taking part.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Trouble {
    /// The servers are away, or JetStream is: it is tried again by the next call.
    #[error("{0}")]
    Away(String),
    /// It will not become otherwise by itself.
    #[error("{0}")]
    Refused(String),
}

impl From<Failed> for Trouble {
    fn from(failed: Failed) -> Trouble {
        match failed {
            Failed::Away(why) => Trouble::Away(why),
            Failed::Refused(why) => Trouble::Refused(why),
        }
    }
}

/// What the stream says when a node comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// The terms as the last leader told them; none where nobody led yet.
    pub terms: Option<Terms>,
    /// Its name.
    pub leader: Option<String>,
}

/// A step along the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Records, from a number on: those behind the own log.
    Records {
        /// The number of the first.
        first: u64,
        /// Each.
        records: Vec<Vec<u8>>,
    },
    /// Another node leads: these are to be kept before its records are.
    Terms(Terms),
    /// What the own log has was never acknowledged: join anew.
    Anew,
    /// Nothing now.
    Idle,
    /// Nothing, and nobody seems to lead: time to stand.
    Vacant,
}

/// See the module.
pub struct Member {
    runtime: Runtime,
    dial: Dial,
    options: Options,
    /// The server that is tried next.
    next_server: usize,
    connection: Option<Connection>,
    follower: Option<Follower>,
    window: usize,
    /// The place of the message by which this node leads, when it asked for it, and the terms.
    won: Option<(u64, Instant, Terms)>,
    begun: Instant,
    /// When it was last asked whether the stream still has what is to be read.
    looked: Duration,
}

impl Member {
    /// A node that is not connected yet.
    ///
    /// # Errors
    /// The certificates cannot be read, or the system has nothing to wait on.
    pub fn new(options: Options) -> Result<Member, Trouble> {
        let refused = |why: std::io::Error| Trouble::Refused(why.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(2).build();
        let dial = Dial::new(&options).map_err(Trouble::Refused)?;
        Ok(Member {
            runtime: runtime.map_err(refused)?,
            dial,
            options,
            next_server: 0,
            connection: None,
            follower: None,
            window: 1,
            won: None,
            begun: Instant::now(),
            looked: Duration::ZERO,
        })
    }

    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Does something over the connection, which is made if there is none, and given up where it fails.
    fn with<T>(
        &mut self,
        does: impl AsyncFnOnce(&mut Connection, &Options) -> Result<T, Failed>,
    ) -> Result<T, Trouble> {
        let (dial, options, server) = (&self.dial, &self.options, self.next_server % self.options.servers.len().max(1));
        let connection = self.connection.take();
        let done: Result<_, Failed> = self.runtime.block_on(async {
            let mut connection = match connection {
                Some(connection) => connection,
                None => dial.open(&options.servers[server]).await.map_err(Failed::Away)?,
            };
            let done = does(&mut connection, options).await?;
            Ok((connection, done))
        });
        match done {
            Ok((connection, done)) => {
                self.connection = Some(connection);
                Ok(done)
            }
            Err(failed) => {
                self.next_server += 1;
                self.window = 1;
                if let Some(follower) = &mut self.follower {
                    follower.excuse(self.begun.elapsed());
                }
                std::thread::park_timeout(AGAIN);
                Err(Trouble::from(failed))
            }
        }
    }

    /// Makes the stream if it is not there, and looks who leads.
    ///
    /// # Errors
    /// It cannot be had, or is not ours.
    pub fn survey(&mut self) -> Result<Survey, Trouble> {
        let (extent, newest) = self.with(async |connection, options| {
            let extent = connection.stream(options).await?;
            let [of_leader, _] = options.subjects();
            Ok((extent, connection.newest(&options.stream, &of_leader).await?))
        })?;
        let refused = |what: &str| Trouble::Refused(format!("the stream {}: {what}", self.options.stream));
        let Some((_, octets)) = newest else {
            return match extent.last {
                0 => Ok(Survey { terms: None, leader: None }),
                _ => Err(refused("nobody says who leads: it was emptied, or its leader was away for too long")),
            };
        };
        match Message::new(&octets) {
            Ok(Message::Leader { terms, name, .. }) => Ok(Survey { terms: Some(terms), leader: Some(name) }),
            _ => Err(refused("its messages are not of this program")),
        }
    }

    /// The terms of a log that nobody led yet, whose next record is `next`: to be kept before they are told.
    pub fn first_terms(next: u64) -> Terms {
        let word = |salt: u8| u128::from(RandomState::new().hash_one((salt, std::process::id())));
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |unix| unix.as_secs());
        Terms::begin(word(0) << 64 | word(1), u32::try_from(unix).unwrap_or(1), next)
    }

    /// Leads a log that nobody led yet, by these terms; none if another was first.
    ///
    /// # Errors
    /// It is not known whether it leads: the stream tells whose log it is.
    pub fn begin(&mut self, terms: &Terms) -> Result<Option<Terms>, Trouble> {
        let octets = leader(crate::message::Word::Leads, &self.options.node, terms, terms.newest().first);
        self.claim(0, octets, terms.clone())
    }

    fn claim(&mut self, after: u64, octets: Vec<u8>, terms: Terms) -> Result<Option<Terms>, Trouble> {
        let asked = Instant::now();
        let published = self.with(async |connection, options| connection.published(options, after, &octets).await)?;
        match published {
            Published::At(place) => {
                self.won = Some((place, asked, terms.clone()));
                Ok(Some(terms))
            }
            Published::Elsewhere(_) => Ok(None),
            Published::NotNow(why) => Err(Trouble::Away(why)),
        }
    }

    /// Follows the stream from where the own log ends: it has the records up to `own`, by these terms.
    ///
    /// # Errors
    /// The stream does not reach back so far.
    pub fn follow(&mut self, terms: Terms, own: u64) -> Result<(), Trouble> {
        let place = self.with(async |connection, options| {
            let extent = connection.stream(options).await?;
            find(connection, options, extent, own + 1).await
        })?;
        let now = self.now();
        self.follower = Some(Follower::new(terms, own, place, now));
        Ok(())
    }

    /// What is known while it follows.
    pub fn follower(&self) -> Option<&Follower> {
        self.follower.as_ref()
    }

    /// The next step; it waits a moment where there is nothing.
    ///
    /// # Errors
    /// The stream cannot be read, or does not follow from the own log.
    pub fn step(&mut self) -> Result<Vec<Step>, Trouble> {
        let Some(place) = self.follower.as_ref().map(Follower::place) else { return Ok(vec![Step::Anew]) };
        let window = self.window;
        let found = self.with(async |connection, options| connection.from(&options.stream, place + 1, window).await)?;
        let now = self.now();
        self.window = if found.len() == window { (window * 2).min(WINDOW_MAX) } else { 1 };
        let Some(follower) = &mut self.follower else { return Ok(Vec::new()) };
        let mut steps = Vec::new();
        for (place, octets) in (place + 1..).zip(&found) {
            steps.extend(match follower.take(place, octets, now) {
                Ok(Brought::Records { first, records }) => Some(Step::Records { first, records }),
                Ok(Brought::Terms(terms)) => Some(Step::Terms(terms)),
                Ok(Brought::Anew) => return Ok([steps, vec![Step::Anew]].concat()),
                Ok(Brought::Nothing) => None,
                Err(fault) => return Err(Trouble::Refused(fault.to_string())),
            });
        }
        if found.is_empty() {
            self.look(place, now)?;
            steps.push(self.at_the_end(now));
        }
        Ok(steps)
    }

    /// That nothing is found is not the end where the stream has given up what is next: a look now and then.
    fn look(&mut self, place: u64, now: Duration) -> Result<(), Trouble> {
        if now.saturating_sub(self.looked) < LOOK {
            return Ok(());
        }
        self.looked = now;
        let extent = self.with(async |connection, options| connection.stream(options).await)?;
        match extent.first > place + 1 && extent.last > place {
            true => Err(Trouble::Refused(gone(self.follower.as_ref().map_or(0, Follower::own) + 1))),
            false => Ok(()),
        }
    }

    fn at_the_end(&mut self, now: Duration) -> Step {
        let Some(follower) = &self.follower else { return Step::Idle };
        // A leader of this node's name is this node as it was before: nobody leads.
        let ours = follower.leader() == Some(&self.options.node);
        if ours || follower.is_vacant(now, self.options.silence) {
            return Step::Vacant;
        }
        std::thread::park_timeout(POLL);
        Step::Idle
    }

    /// Stands for the lead behind what was read: the terms if it leads from now on. Records of the own log from the
    /// newest term's first on are then to be published.
    ///
    /// # Errors
    /// It is not known whether it leads: what it reads next will tell.
    pub fn stand(&mut self) -> Result<Option<Terms>, Trouble> {
        let Some(follower) = &self.follower else { return Ok(None) };
        let (place, (terms, octets)) = (follower.place(), follower.candidacy(&self.options.node));
        let won = self.claim(place, octets, terms)?;
        if won.is_none() {
            // Somebody wrote: it will be read.
            std::thread::park_timeout(POLL);
        }
        Ok(won)
    }

    /// Publishes from now on, by a thread of its own. `tell` is called by it, and has to be short.
    ///
    /// # Errors
    /// Nothing was won, the server takes too little, or there is no thread left.
    pub fn lead(self, tell: impl FnMut(Progress<'_>) + Send + 'static) -> Result<Leader, Trouble> {
        let refused = |what: &str| Trouble::Refused(what.to_owned());
        let (place, asked, terms) = self.won.ok_or_else(|| refused("this node does not lead"))?;
        let connection = self.connection.ok_or_else(|| refused("this node does not lead"))?;
        let room = connection.payload_octets.saturating_sub(HEAD_OCTETS).min(MESSAGE_OCTETS_MAX);
        if room < ROOM_OCTETS_MIN {
            return Err(refused("the server takes messages of less than 2 KiB (max_payload)"));
        }
        let term = terms.newest().number;
        let publisher = Publisher::new(terms, &self.options.node, place, room);
        let reign = Reign {
            dial: self.dial,
            options: self.options,
            next_server: self.next_server,
            publisher,
            term,
            connection: Some(connection),
            asked,
        };
        Leader::start(self.runtime, reign, tell).map_err(|error| Trouble::Refused(error.to_string()))
    }
}

/// The place behind which the stream is to be read for a record.
async fn find(connection: &mut Connection, options: &Options, extent: Extent, number: u64) -> Result<u64, Failed> {
    let mut search = Search::new(number, extent.first, extent.last);
    while let Some(place) = search.next() {
        let octets = connection.at(&options.stream, place).await?;
        let octets = octets.ok_or_else(|| Failed::Away("messages of the stream are going".to_owned()))?;
        let strange = |_| Failed::Refused("the messages of the stream are not of this program".to_owned());
        search.saw(place, &Message::new(&octets).map_err(strange)?);
    }
    search.behind().ok_or_else(|| Failed::Refused(gone(number)))
}

fn gone(number: u64) -> String {
    format!("the stream does not have record {number} any more: this node needs a copy of another one's log")
}
