//! Delivery: which alerts go where, together, how often, and until when.
//!
//! ```text
//!  notice --routes--> groups, which wait for more --> messages, one for each channel --> attempts --> outcomes
//!                                    alerts that nobody acknowledges --> messages of escalation
//! ```
//!
//! Nothing is done here that is not an [`Entry`] first: [`Delivery::handle_timeout`] says which records are to be
//! written, and only [`Delivery::apply`] changes anything. So an attempt is on disk before it is made, and after a
//! crash it is known which attempts have an outcome that nobody saw. Those are made again under the same name where
//! the channel can be asked to ignore a copy, and told as in doubt where it cannot.

mod course;
mod incident;
mod message;
mod queue;
mod render;

pub use course::{COURSE_STEPS_MAX, Course, Happened, Step};
pub use incident::{Acknowledged, Escalated, Incident, Kind, Notice, Past};
pub use message::{
    Attempted, MESSAGE_ALERTS_MAX, MESSAGE_OCTETS_MAX, Message, Outcome, Outcomes, REPORT_ROUTE, TEST_ROUTE, Told,
};
pub use queue::{BACK_OFF_MAX_S, MESSAGES_MAX, Waiting};
pub use render::{field, json, subject_line, text};

use crate::counts::DeliveryCounts;
use crate::entry::Entry;
use crate::rule::{Route, Rules};
use queue::Queues;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Alerts that wait in a group; further ones are only counted in its message.
// Limit: alerts waiting in one group
// Beyond: further ones are counted in its message
// Seen in: the message
pub const GROUP_ALERTS_MAX: usize = 1_000;
/// Alerts that are over and are remembered at most, whatever is wanted; the oldest leaves.
// Limit: alerts in the history
// Beyond: the oldest leaves
// Seen in: the history ends there
pub const PAST_MAX: usize = 20_000;
/// Outcomes of attempts that are remembered until the program ends; the oldest leaves.
pub const TOLD_MAX: usize = 200;

/// Which alerts that are over are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    /// The newest so many, at most [`PAST_MAX`].
    pub entries: usize,
    /// Those that ended at this time or later, seconds since 1970.
    pub since_s: Option<i64>,
}

impl Default for History {
    /// As many as there may be, however old.
    fn default() -> Self {
        History { entries: PAST_MAX, since_s: None }
    }
}

/// What alerts are known, and what is to be told of them.
#[derive(Debug, Default)]
pub struct Delivery {
    rules: Arc<Rules>,
    incidents: BTreeMap<String, Incident>,
    groups: BTreeMap<GroupName, Group>,
    queues: Queues,
    past: VecDeque<Past>,
    history: History,
    told: VecDeque<Told>,
    counts: DeliveryCounts,
}

/// A route, and the values of the labels that make its groups.
pub type GroupName = (String, Vec<String>);

/// What waits for a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    waiting: Vec<Notice>,
    /// Alerts beyond those that wait.
    more: u64,
    /// When the first of them came.
    first_s: i64,
    /// When a message was made last.
    last_s: Option<i64>,
}

/// A part of what is known, for a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// An alert.
    Incident(Incident),
    /// A group, by its route and values.
    Group(GroupName, Group),
    /// A message that waits.
    Message(Waiting),
    /// An alert that is over.
    Past(Past),
}

/// A message that is to be sent now.
#[derive(Clone, Debug, PartialEq)]
pub struct Send {
    /// It.
    pub message: Message,
    /// Which attempt it is, from 1.
    pub attempt: u32,
}

impl Delivery {
    /// By these rules; nothing is known.
    pub fn new(rules: Arc<Rules>) -> Delivery {
        Delivery { rules, ..Delivery::default() }
    }

    /// Takes over what an entry says; of those of the engine, how a subject stands is the course of its alert.
    pub fn apply(&mut self, entry: &Entry) {
        match entry {
            Entry::Notice(notice) => self.take(notice),
            Entry::Message(message) => self.made(message),
            Entry::Attempted(attempted) => {
                self.counts.attempts += 1;
                let repeated = self.queues.attempted(attempted);
                self.counts.repeated_in_doubt += u64::from(repeated);
            }
            Entry::Outcome(outcome) => self.came(outcome),
            Entry::Acknowledged(acknowledged) => {
                if let Some(incident) = self.incidents.get_mut(&acknowledged.incident) {
                    incident.course.acknowledged(acknowledged.at_s, &acknowledged.who);
                    incident.acknowledged = Some(acknowledged.clone());
                }
            }
            Entry::Escalated(escalated) => {
                if let Some(incident) = self.incidents.get_mut(&escalated.incident) {
                    incident.steps.insert(escalated.route.clone(), escalated.step + 1);
                }
            }
            Entry::Kept(kept) => self.keep(kept.clone()),
            Entry::Standing(standing) => {
                let incident = standing.incident.as_ref().and_then(|id| self.incidents.get_mut(id));
                incident.into_iter().for_each(|incident| incident.course.follow(standing));
            }
            Entry::Hour(_) | Entry::Silenced(_) | Entry::Unsilenced(_) | Entry::Reported(_) | Entry::Devices(_) => {}
        }
    }

    /// What is to be done now: records, each of which is to be written as a whole, then [applied](Self::apply). After
    /// that [`poll_send`](Self::poll_send) has what is to be sent.
    pub fn handle_timeout(&mut self, now_s: i64) -> Vec<Vec<Entry>> {
        let mut records: Vec<Vec<Entry>> = Vec::new();
        for (name, group) in &self.groups {
            let route = self.rules.routes.get(&name.0);
            if let Some(route) = route.filter(|route| group.due_s(route).is_some_and(|due_s| due_s <= now_s)) {
                records.push(messages(name, &route.channels, &group.waiting, group.more, now_s, None));
            }
        }
        records.extend(self.escalations(now_s));
        let attempts = self.queues.attempts(&self.rules.channels, now_s);
        records.extend(attempts.into_iter().map(|attempted| vec![Entry::Attempted(attempted)]));
        records
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do, seconds since 1970.
    pub fn poll_timeout(&self) -> Option<i64> {
        let route = |name: &GroupName| self.rules.routes.get(&name.0);
        let groups = self.groups.iter().filter_map(|(name, group)| group.due_s(route(name)?)).min();
        let steps = self.incidents.values().flat_map(|incident| self.next_steps(incident)).map(|(_, _, due_s)| due_s);
        [groups, steps.min(), self.queues.due_s(&self.rules.channels)].into_iter().flatten().min()
    }

    /// What is to be sent now: an attempt that was applied.
    pub fn poll_send(&mut self) -> Option<Send> {
        self.queues.poll_send()
    }

    /// What came of an attempt, as an entry: a failure is final once it was tried for long enough, and what is in doubt
    /// is so for good where the channel cannot be asked to ignore a copy.
    pub fn outcome(&self, message: &str, came: Outcomes, at_s: i64) -> Entry {
        let channel = self.queues.get(message).map(|waiting| (&waiting.message, &waiting.message.channel));
        let channel = channel.and_then(|(message, name)| Some((message, self.rules.channels.get(name)?)));
        let is_late = channel.is_none_or(|(message, channel)| at_s - message.made_s >= channel.retry_for_s);
        let came = match came {
            Outcomes::Failed(why) if is_late => Outcomes::GivenUp(format!("tried for too long: {why}")),
            Outcomes::InDoubt(why) if channel.is_some_and(|(_, channel)| !channel.knows_copies()) => {
                Outcomes::LeftInDoubt(why)
            }
            Outcomes::InDoubt(why) if is_late => Outcomes::LeftInDoubt(why),
            came => came,
        };
        Entry::Outcome(Outcome { message: message.to_owned(), at_s, came })
    }

    /// Goes on after a restart, once all entries were applied. Attempts whose outcome a crash hid are made again at
    /// once where the channel can be asked to ignore a copy; for the others there are outcomes to be written and
    /// applied.
    pub fn resume(&mut self, now_s: i64) -> Vec<Vec<Entry>> {
        self.counts = DeliveryCounts::default();
        self.told.clear();
        let channels = &self.rules.channels;
        let known = |name: &str| channels.get(name).is_none_or(crate::rule::Channel::knows_copies);
        let hidden = self.queues.resume(known, now_s);
        let why = || Outcomes::InDoubt("the program ended before its outcome was known".to_owned());
        hidden.into_iter().map(|message| vec![self.outcome(&message, why(), now_s)]).collect()
    }

    /// Takes over what a delivery by other rules remembered beside its entries, after [`resume`](Self::resume).
    pub fn go_on_from(&mut self, before: Delivery) {
        (self.counts, self.told) = (before.counts, before.told);
    }

    /// Counts on from what another one counted.
    pub fn count_on_from(&mut self, before: &Delivery) {
        self.counts = before.counts;
    }

    /// All that must be known after a restart.
    pub fn snapshot(&self, mut put: impl FnMut(Entry)) {
        self.past.iter().for_each(|past| put(Entry::Kept(Kept::Past(past.clone()))));
        self.incidents.values().for_each(|incident| put(Entry::Kept(Kept::Incident(incident.clone()))));
        for (name, group) in &self.groups {
            put(Entry::Kept(Kept::Group(name.clone(), Group { waiting: Vec::new(), ..group.clone() })));
            // One by one: a record has its bounds.
            for notice in &group.waiting {
                let one = Group { waiting: vec![notice.clone()], ..group.clone() };
                put(Entry::Kept(Kept::Group(name.clone(), one)));
            }
        }
        self.queues.all().for_each(|waiting| put(Entry::Kept(Kept::Message(waiting.clone()))));
    }

    /// Alerts that are not over.
    pub fn incidents(&self) -> impl Iterator<Item = &Incident> {
        self.incidents.values()
    }

    /// Alerts that are over, the newest last.
    pub fn past(&self) -> impl DoubleEndedIterator<Item = &Past> {
        self.past.iter()
    }

    /// What came of the last attempts, the newest last.
    pub fn told(&self) -> impl DoubleEndedIterator<Item = &Told> {
        self.told.iter()
    }

    /// The files of reports that wait: what their names begin with.
    pub fn report_files(&self) -> BTreeSet<String> {
        let reports = self.queues.all().filter_map(|waiting| waiting.message.report.as_ref());
        reports.map(|report| report.file.clone()).collect()
    }

    /// Messages that wait.
    pub fn waiting(&self) -> usize {
        self.queues.len()
    }

    /// What was counted.
    pub fn counts(&self) -> DeliveryCounts {
        self.counts
    }

    fn take(&mut self, notice: &Notice) {
        let id = &notice.incident;
        match notice.kind {
            Kind::Fired => {
                let routes = self.routes_of(notice);
                self.counts.unrouted += u64::from(routes.is_empty());
                self.incidents.insert(id.clone(), Incident::new(notice.clone(), routes.clone()));
                routes.iter().for_each(|route| self.wait(route, notice));
            }
            Kind::Resumed => {
                let Some(incident) = self.incidents.get_mut(id) else { return };
                incident.state = Kind::Resumed;
                let untold: Vec<String> = incident.routes.difference(&incident.told).cloned().collect();
                untold.iter().for_each(|route| self.wait(route, notice));
            }
            Kind::Suppressed | Kind::Unknown | Kind::Resolved => self.calms(notice),
        }
    }

    /// An alert is kept back, unknown or over: what was not told of it is not told any more, and what was is told on.
    fn calms(&mut self, notice: &Notice) {
        for group in self.groups.values_mut() {
            group.waiting.retain(|waiting| waiting.incident != notice.incident || waiting.kind == Kind::Unknown);
        }
        let Some(incident) = self.incidents.get_mut(&notice.incident) else { return };
        incident.state = notice.kind;
        let told: Vec<String> = incident.told.iter().cloned().collect();
        if notice.kind == Kind::Resolved
            && let Some(mut incident) = self.incidents.remove(&notice.incident)
        {
            incident.course.stands(notice.at_s, notice.kind.name(), None, notice.value);
            self.remember(Past { incident, ended_s: notice.at_s });
        }
        for name in told {
            let resolved = self.rules.routes.get(&name).is_some_and(|route| route.resolved);
            if notice.kind == Kind::Unknown || notice.kind == Kind::Resolved && resolved {
                self.wait(&name, notice);
            }
        }
    }

    fn remember(&mut self, past: Past) {
        self.past.push_back(past);
        self.past.drain(..self.past.len().saturating_sub(self.history.entries.min(PAST_MAX)));
    }

    /// From now on only these alerts that are over are remembered; how many left.
    pub fn keep_history(&mut self, history: History) -> usize {
        let before = self.past.len();
        self.history = history;
        self.past.drain(..before.saturating_sub(history.entries.min(PAST_MAX)));
        self.past.retain(|past| history.since_s.is_none_or(|since_s| past.ended_s >= since_s));
        before - self.past.len()
    }

    /// Which of them are.
    pub fn history(&self) -> History {
        self.history
    }

    fn routes_of(&self, notice: &Notice) -> BTreeSet<String> {
        let takes = |route: &Route| {
            route.when.iter().all(|test| test.holds(notice.labels.get(&test.label).map(String::as_str)))
        };
        let all = self.rules.routes.iter();
        match notice.routes.is_empty() {
            true => all.filter(|(_, route)| takes(route)).map(|(name, _)| name.clone()).collect(),
            false => all.map(|(name, _)| name).filter(|name| notice.routes.contains(name)).cloned().collect(),
        }
    }

    fn wait(&mut self, route: &str, notice: &Notice) {
        let Some(labels) = self.rules.routes.get(route).map(|route| &route.group) else { return };
        let name = group_name(route, labels, notice);
        let group = self.groups.entry(name).or_default();
        if group.waiting.is_empty() {
            group.first_s = notice.at_s;
        }
        if group.waiting.len() >= GROUP_ALERTS_MAX {
            group.more += 1;
            if let Some(incident) = self.incidents.get_mut(&notice.incident) {
                incident.told.insert(route.to_owned());
            }
            return;
        }
        group.waiting.push(notice.clone());
    }

    /// A message was made: what waited in its group was taken over by it and those of the same record.
    fn made(&mut self, message: &Message) {
        self.counts.messages += 1;
        self.counts.escalated += u64::from(message.step.is_some());
        let name = (message.route.clone(), message.group.clone());
        if let Some(group) = self.groups.get_mut(&name).filter(|_| message.step.is_none()) {
            group.last_s = Some(message.made_s);
            group.more = 0;
            for notice in core::mem::take(&mut group.waiting) {
                if let Some(incident) = self.incidents.get_mut(&notice.incident) {
                    incident.told.insert(message.route.clone());
                }
            }
        }
        self.forget_groups(message.made_s);
        let lost = self.queues.put(message.clone());
        self.counts.messages_overflow += lost;
    }

    /// Groups in which nothing waits, and whose last message holds nothing back any more.
    fn forget_groups(&mut self, now_s: i64) {
        let routes = &self.rules.routes;
        self.groups.retain(|name, group| {
            let interval_s = routes.get(&name.0).map(|route| route.interval_s);
            let holds = interval_s.is_some_and(|s| group.last_s.is_some_and(|last_s| now_s - last_s < s.max(1)));
            holds || interval_s.is_some() && !group.waiting.is_empty()
        });
    }

    fn came(&mut self, outcome: &Outcome) {
        match &outcome.came {
            Outcomes::Delivered => self.counts.delivered += 1,
            Outcomes::Failed(_) | Outcomes::InDoubt(_) => self.counts.retried += 1,
            Outcomes::GivenUp(_) => self.counts.given_up += 1,
            Outcomes::LeftInDoubt(_) => self.counts.left_in_doubt += 1,
        }
        if let Some(waiting) = self.queues.get(&outcome.message) {
            for notice in &waiting.message.alerts {
                let incident = match self.incidents.get_mut(&notice.incident) {
                    Some(incident) => Some(incident),
                    None => {
                        let mut all = self.past.iter_mut().rev().map(|past| &mut past.incident);
                        all.find(|over| over.notice.incident == notice.incident)
                    }
                };
                incident.into_iter().for_each(|incident| incident.course.told(&waiting.message, outcome));
            }
            self.told.push_back(Told::new(&waiting.message, outcome));
            self.told.drain(..self.told.len().saturating_sub(TOLD_MAX));
        }
        self.queues.came(outcome);
    }

    /// The steps of escalation that an alert has before it: the route, which step, and when.
    fn next_steps<'d>(&'d self, incident: &'d Incident) -> impl Iterator<Item = (&'d String, usize, i64)> {
        let open = incident.acknowledged.is_none() && matches!(incident.state, Kind::Fired | Kind::Resumed);
        incident.told.iter().filter(move |_| open).filter_map(|name| {
            let step = incident.steps.get(name).copied().unwrap_or_default();
            let after_s = self.rules.routes.get(name)?.steps.get(step)?.after_s;
            Some((name, step, incident.notice.began_s.saturating_add(after_s)))
        })
    }

    /// One record for each group and step, with the alerts of the group that are at it.
    fn escalations(&self, now_s: i64) -> Vec<Vec<Entry>> {
        let mut due: BTreeMap<(GroupName, usize), Vec<&Incident>> = BTreeMap::new();
        for incident in self.incidents.values() {
            // What does not fit into a record is due again, and comes with the next one.
            for (name, step, _) in self.next_steps(incident).filter(|(_, _, due_s)| *due_s <= now_s) {
                let labels = self.rules.routes.get(name).map(|route| route.group.as_slice()).unwrap_or_default();
                let at_step = due.entry((group_name(name, labels, &incident.notice), step)).or_default();
                if at_step.len() < GROUP_ALERTS_MAX {
                    at_step.push(incident);
                }
            }
        }
        let record = |((name, step), incidents): ((GroupName, usize), Vec<&Incident>)| {
            let channels = self.rules.routes.get(&name.0).and_then(|route| route.steps.get(step));
            let channels = channels.map(|step| step.channels.as_slice()).unwrap_or_default();
            let notices: Vec<Notice> = incidents.iter().map(|incident| incident.notice.clone()).collect();
            let mut record = messages(&name, channels, &notices, 0, now_s, Some(step));
            record.extend(incidents.iter().map(|incident| {
                let incident = incident.notice.incident.clone();
                Entry::Escalated(Escalated { incident, route: name.0.clone(), step, at_s: now_s })
            }));
            record
        };
        due.into_iter().map(record).collect()
    }

    fn keep(&mut self, kept: Kept) {
        match kept {
            Kept::Incident(incident) => drop(self.incidents.insert(incident.notice.incident.clone(), incident)),
            Kept::Group(name, group) => {
                let known = self.groups.entry(name).or_default();
                (known.more, known.first_s, known.last_s) = (group.more, group.first_s, group.last_s);
                let room = GROUP_ALERTS_MAX.saturating_sub(known.waiting.len());
                known.waiting.extend(group.waiting.into_iter().take(room));
            }
            Kept::Past(past) => self.remember(past),
            Kept::Message(waiting) => self.counts.messages_overflow += self.queues.restore(waiting),
        }
    }
}

impl Group {
    fn due_s(&self, route: &Route) -> Option<i64> {
        let after = self.last_s.map_or(i64::MIN, |last_s| last_s.saturating_add(route.interval_s));
        (!self.waiting.is_empty()).then(|| self.first_s.saturating_add(route.wait_s).max(after))
    }
}

fn group_name(route: &str, labels: &[String], notice: &Notice) -> GroupName {
    let value = |label: &String| notice.labels.get(label).cloned().unwrap_or_default();
    (route.to_owned(), labels.iter().map(value).collect())
}

/// The messages that tell of the same alerts in several channels.
fn messages(
    (route, group): &GroupName,
    channels: &[String],
    notices: &[Notice],
    more: u64,
    now_s: i64,
    step: Option<usize>,
) -> Vec<Entry> {
    let once: BTreeSet<&String> = channels.iter().collect();
    let message = |channel: &String| Message::new(route, group, channel, notices, more, now_s, step);
    once.into_iter().map(|channel| Entry::Message(message(channel))).collect()
}

#[cfg(test)]
mod tests;
