//! Devices are looked at: when, and what becomes of what was found.

use super::{Done, Owner, ToLane, Undone};
use crate::discovery::{Exploration, Findings};
use crate::inventory::around::surroundings;
use crate::inventory::order::Draft;
use crate::inventory::remap::remap;
use crate::inventory::{Change, Kind, Refusal};
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};
use trunkline_kit::random::mixed;

/// Who the entries name.
pub(super) const BY: &str = "discovery";
/// After how long a device that could not be looked at is tried again; twice as long each time.
const AGAIN: Duration = Duration::from_secs(60);
/// And at most.
const AGAIN_MAX: Duration = Duration::from_secs(3600);
/// A device of which a row is gone is looked at again after so long at least.
const SOON: Duration = Duration::from_secs(300);

/// When devices are looked at.
#[derive(Debug)]
pub(super) struct Exploring {
    every: Duration,
    due: BTreeSet<(Instant, u32)>,
    devices: HashMap<u32, Looks>,
}

#[derive(Clone, Copy, Debug)]
struct Looks {
    due: Instant,
    last: Option<Instant>,
    failed: u32,
}

impl Exploring {
    pub fn new(every: Duration) -> Exploring {
        Exploring { every, due: BTreeSet::new(), devices: HashMap::new() }
    }

    fn set(&mut self, device: u32, change: impl FnOnce(&mut Looks)) {
        let now = Instant::now();
        let looks = self.devices.entry(device).or_insert(Looks { due: now, last: None, failed: 0 });
        self.due.remove(&(looks.due, device));
        change(looks);
        self.due.insert((looks.due, device));
    }

    /// A device of the beginning: one that was seen before has time, the others have not.
    pub fn begins_with(&mut self, device: u32, is_new: bool, now: Instant) {
        let share = mixed(device.into()) as f64 / u64::MAX as f64;
        let later = if is_new { Duration::ZERO } else { self.every.mul_f64(share) };
        self.set(device, |looks| looks.due = now + later);
    }

    /// A device that may be new.
    pub fn begins(&mut self, device: u32, now: Instant) {
        if !self.devices.contains_key(&device) {
            self.now(device, now);
        }
    }

    pub fn now(&mut self, device: u32, now: Instant) {
        self.set(device, |looks| looks.due = now);
    }

    /// Not more often than every so often.
    pub fn soon(&mut self, device: u32, now: Instant) {
        self.set(device, |looks| {
            let earliest = looks.last.map_or(now, |last| now.max(last + SOON));
            looks.due = looks.due.min(earliest);
        });
    }

    /// A device answers: what failed is tried again.
    pub fn is_up(&mut self, device: u32, now: Instant) {
        if self.devices.get(&device).is_some_and(|looks| looks.failed > 0) {
            self.now(device, now);
        }
    }

    pub fn forget(&mut self, device: u32) {
        if let Some(looks) = self.devices.remove(&device) {
            self.due.remove(&(looks.due, device));
        }
    }

    /// A device was looked at, or could not be.
    fn ended(&mut self, device: u32, is_done: bool, now: Instant) {
        let every = self.every;
        if !self.devices.contains_key(&device) {
            return;
        }
        self.set(device, |looks| {
            looks.failed = if is_done { 0 } else { looks.failed.saturating_add(1) };
            let again = AGAIN.saturating_mul(1 << looks.failed.saturating_sub(1).min(6)).min(AGAIN_MAX);
            // What was wanted meanwhile stays wanted.
            let wanted = looks.due <= now && looks.last.is_some_and(|last| looks.due > last);
            if !wanted {
                looks.due = now + if is_done { every } else { again };
            }
        });
    }

    /// How long nothing is due.
    pub fn patience(&self, now: Instant) -> Duration {
        self.due.first().map_or(Duration::MAX, |(due, _)| due.saturating_duration_since(now))
    }

    /// The next device that is due; it is looked at from now on.
    fn next(&mut self, now: Instant) -> Option<u32> {
        let (_, device) = self.due.first().copied().filter(|(due, _)| *due <= now)?;
        let every = self.every;
        self.set(device, |looks| {
            looks.last = Some(now);
            looks.due = now + every;
        });
        Some(device)
    }
}

impl Owner {
    /// Has devices looked at for which it is time.
    pub(super) fn explore_due(&mut self) {
        let now = Instant::now();
        while let Some(device) = self.exploring.next(now) {
            let inventory = self.shared.inventory();
            // Where its name was not known it is looked up again.
            if self.addresses.get(&device).is_some_and(|(.., address)| address.is_none()) {
                self.look_up(device);
                self.exploring.ended(device, false, now);
                continue;
            }
            let Some(found) = inventory.devices().get(device).filter(|_| self.is_polled(&inventory, device)) else {
                // When that is another time, it begins anew.
                self.exploring.forget(device);
                continue;
            };
            let template = found.template.and_then(|id| inventory.template_name(id)).map(str::to_owned);
            let library = self.shared.library();
            let of_source = |source: &u32| crate::targets::template(&inventory, &library, *source)?.table.clone();
            let tables = inventory.sources_of(device).iter().filter_map(of_source).collect();
            let exploration = Box::new(Exploration::new(template, tables));
            self.tell_lane(device, ToLane::Explore(device, exploration));
        }
    }

    /// Somebody wants a device looked at.
    pub(super) fn wants(&mut self, device: u32) -> Result<Done, Undone> {
        let inventory = self.twin.newest();
        let found = inventory.devices().get(device);
        let found = found.ok_or(Refusal::Unknown { what: "device", id: device })?;
        if !self.is_polled(inventory, device) {
            return Err(Refusal::Wrong(format!("device '{}' is not polled by SNMP", found.name)).into());
        }
        let sequence = inventory.sequence();
        self.exploring.now(device, Instant::now());
        Ok(Done { sequence, changes: Vec::new() })
    }

    /// What was found becomes what is known: what it says of itself, its template, its rows, and what the template
    /// gives it.
    pub(super) fn explored(&mut self, device: u32, starts: u32, found: Result<Box<Findings>, &'static str>) {
        let is_done = match found {
            Ok(findings) => {
                let is_taken = self.take(device, &findings);
                let is_fresh = is_taken && !findings.broken.iter().any(|table| self.has_rows(device, table));
                self.turn.fresh.extend(is_fresh.then_some((device, starts)));
                is_taken && findings.broken.is_empty() && !findings.around_was_silent
            }
            Err(_) => false,
        };
        self.exploring.ended(device, is_done, Instant::now());
    }

    /// Whether rows of a table are known, which would be left where they are.
    fn has_rows(&self, device: u32, table: &str) -> bool {
        let inventory = self.twin.newest();
        let Some(table) = inventory.named(Kind::Table, table) else { return false };
        let is_of = |row: &u32| inventory.rows().get(*row).is_some_and(|row| row.table == table);
        inventory.rows_of(device).iter().any(is_of)
    }

    /// Whether all of it could be taken.
    fn take(&mut self, device: u32, findings: &Findings) -> bool {
        if !self.twin.newest().devices().has(device) {
            return false;
        }
        let is = self.is(device, findings);
        let mut is_done = self.changes(device, is);
        for (table, rows) in &findings.tables {
            let remap = remap(self.twin.newest(), device, table, rows);
            if remap.left_out > 0 {
                self.trouble_of(device, &format!("{table}: {} rows are left out", remap.left_out));
            }
            is_done &= self.changes(device, remap.changes);
        }
        is_done &= self.take_around(device, findings);
        is_done &= self.furnish(device);
        is_done
    }

    /// What is around it, whose interfaces are known by now.
    fn take_around(&mut self, device: u32, findings: &Findings) -> bool {
        let told = surroundings(self.twin.newest(), device, &findings.around);
        let all = ["neighbours", "addresses", "hosts (ARP)", "hardware addresses"];
        for (what, left_out) in all.into_iter().zip(told.left_out) {
            if left_out > 0 {
                self.trouble_of(device, &format!("{left_out} {what} are left out"));
            }
        }
        if !findings.around_was_silent && !findings.around_broken.is_empty() {
            let what = findings.around_broken.join(", ");
            self.trouble_of(device, &format!("{what} cannot be read to their end"));
        }
        self.changes(device, told.changes)
    }

    /// What a device says of itself, and the template that is for it if it has none.
    fn is(&self, device: u32, findings: &Findings) -> Vec<Change> {
        let inventory = self.twin.newest();
        let mut draft = Draft::new(inventory);
        if inventory.observed(device) != Some(&findings.observed) {
            draft.change(Change::Observed { device, observed: Box::new(findings.observed.clone()) });
        }
        let known = inventory.devices().get(device).filter(|known| known.template.is_none());
        if let (Some(known), Some(name)) = (known, &findings.template) {
            let template = draft.named(Kind::DeviceTemplate, name);
            let known = crate::inventory::Device { template: Some(template), ..known.clone() };
            draft.change(Change::Device { id: device, device: Box::new(known) });
        }
        draft.changes()
    }

    pub(super) fn changes(&mut self, device: u32, changes: Vec<Change>) -> bool {
        match self.change(BY, changes) {
            Ok(_) => true,
            Err(why) => {
                self.trouble_of(device, &format!("what it has is not imported: {why}"));
                false
            }
        }
    }
}
