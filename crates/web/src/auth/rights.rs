//! Who may see which devices, trees and graphs: rules for roles and for users, and what holds where none speaks.
//!
//! What rules are about is known to the job of graphs alone; here they are kept, and put together for who asks. Rules
//! of a user decide before those of their role, and administrators see everything.

use super::desk::Desk;
use super::refusal::Refusal;
use super::role::{Permissions, Role};
use super::users::{User, canonical, find};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use std::sync::Arc;
use trunkline_contract::graph::{self, GraphScopeRule};

/// Most rules of a role or a user.
// Limit: graph rules of one role or user
// Beyond: a further rule is refused
// Seen in: the error message
pub const RULES_MAX: i64 = 200;
/// Most characters of what a rule is about.
pub const VALUE_CHARACTERS_MAX: usize = 255;

/// Whose rules.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whose {
    /// All users of a role.
    Role(Role),
    /// A user, by name.
    User(String),
}

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// A device, by number.
    Device,
    /// Devices, by a pattern of their names.
    DeviceName,
    /// Devices, by a pattern of their sites' names.
    Site,
    /// Devices, by a pattern of their templates' names.
    DeviceTemplate,
    /// Trees, by a pattern of their names, with all that is in them.
    Tree,
    /// A place in a tree, by number, with all that is in it.
    Place,
    /// A graph, by number.
    Graph,
    /// Graphs, by a pattern of their templates' names.
    GraphTemplate,
    /// Graphs, by a pattern of their titles.
    GraphTitle,
}

impl About {
    /// All, with their names.
    pub const ALL: [(About, &'static str); 9] = [
        (About::Device, "device"),
        (About::DeviceName, "device-name"),
        (About::Site, "site"),
        (About::DeviceTemplate, "device-template"),
        (About::Tree, "tree"),
        (About::Place, "place"),
        (About::Graph, "graph"),
        (About::GraphTemplate, "graph-template"),
        (About::GraphTitle, "graph-title"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        About::ALL.iter().find(|(about, _)| *about == self).map_or("", |(_, name)| name)
    }

    /// By its name.
    ///
    /// # Errors
    /// [`Refusal::BadValue`].
    pub fn named(name: &str) -> Result<About, Refusal> {
        let known = About::ALL.iter().find(|(_, known)| *known == name).map(|(about, _)| *about);
        known.ok_or_else(|| {
            let names = About::ALL.map(|(_, name)| name).join(", ");
            Refusal::value("kind", format!("there are no rules about '{name}': expected {names}"))
        })
    }

    fn is_number(self) -> bool {
        matches!(self, About::Device | About::Place | About::Graph)
    }

    /// What is kept of a value.
    fn value(self, value: &str) -> Result<String, Refusal> {
        let value = value.trim();
        if self.is_number() {
            let number = value.parse::<u32>().ok().filter(|number| *number > 0);
            let why = || Refusal::value("value", format!("a {} is named by its number", self.name()));
            return number.map(|number| number.to_string()).ok_or_else(why);
        }
        if value.is_empty() || value.chars().count() > VALUE_CHARACTERS_MAX || value.chars().any(char::is_control) {
            let text = format!("a pattern has 1 to {VALUE_CHARACTERS_MAX} characters, on one line");
            return Err(Refusal::value("value", text));
        }
        Ok(value.to_owned())
    }
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphRule {
    /// Its row.
    pub id: i64,
    /// Whether it allows or denies.
    pub allow: bool,
    /// What it is about.
    pub about: About,
    /// Which: a number or a pattern with `*` and `?`.
    pub value: String,
}

/// Rules of a role or a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphRights {
    /// Whose.
    pub whose: Whose,
    /// Whether that is seen which no rule speaks about; none of a user is as their role has it.
    pub everything: Option<bool>,
    /// The rules, oldest first.
    pub rules: Vec<GraphRule>,
}

/// What somebody may see: levels of rules, the first that speaks decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphScope {
    /// Whether that is seen which no rule speaks about.
    pub everything: bool,
    /// The user's own rules.
    pub of_user: Vec<GraphRule>,
    /// Those of their role.
    pub of_role: Vec<GraphRule>,
}

impl GraphScope {
    /// What it is to the job of graphs.
    pub fn told(&self) -> graph::GraphScope {
        let rule = |rule: &GraphRule| GraphScopeRule {
            allow: rule.allow,
            kind: rule.about.name().to_owned(),
            value: rule.value.clone(),
        };
        let levels = [&self.of_user, &self.of_role].map(|rules| rules.iter().map(rule).collect());
        graph::GraphScope { everything: self.everything, levels: levels.to_vec() }
    }
}

/// The row of a role, or that of a user.
struct Of(Option<&'static str>, Option<i64>);

impl Of {
    fn find(c: &Connection, whose: &Whose) -> Result<Of, Refusal> {
        match whose {
            Whose::Role(Role::Administrator) => {
                Err(Refusal::Conflict("administrators see everything: there are no rules for them".to_owned()))
            }
            Whose::Role(role) => Ok(Of(Some(role.name()), None)),
            Whose::User(name) => Ok(Of(None, Some(find(c, &canonical(name)?)?.id))),
        }
    }
}

impl Desk {
    /// What users of a role, or a user, may see of graphs; none is everything.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] for a user who does not exist, [`Refusal::Failed`].
    pub fn graph_scope_of(&self, whose: &Whose) -> Result<Option<GraphScope>, Refusal> {
        self.read(|c| match whose {
            // No user has this number.
            Whose::Role(role) => scope(c, 0, *role),
            Whose::User(name) => {
                let user = find(c, &canonical(name)?)?;
                scope(c, user.id, user.role)
            }
        })
    }

    /// The rules of all roles, and of users that have some.
    ///
    /// # Errors
    /// [`Refusal::Failed`].
    pub fn graph_rights(&self) -> Result<Vec<GraphRights>, Refusal> {
        self.read(|c| {
            let mut all = Vec::new();
            for role in Role::ALL.into_iter().filter(|role| *role != Role::Administrator) {
                let of = Of(Some(role.name()), None);
                let everything = Some(default_of(c, &of)?.unwrap_or(true));
                all.push(GraphRights { whose: Whose::Role(role), everything, rules: rules_of(c, &of)? });
            }
            let mut users = c.prepare_cached(
                "SELECT id, name FROM users WHERE id IN (SELECT user FROM graph_rules) \
                 OR id IN (SELECT user FROM graph_defaults) ORDER BY name",
            )?;
            let users = users.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            for (id, name) in users.collect::<rusqlite::Result<Vec<(i64, String)>>>()? {
                let of = Of(None, Some(id));
                let (everything, rules) = (default_of(c, &of)?, rules_of(c, &of)?);
                all.push(GraphRights { whose: Whose::User(name), everything, rules });
            }
            Ok(all)
        })
    }

    /// Makes a rule; one about the same allows or denies from now on.
    ///
    /// # Errors
    /// [`Refusal::BadValue`], [`Refusal::NotFound`] for a user, [`Refusal::Conflict`] for administrators and where
    /// there are too many, [`Refusal::Failed`].
    pub fn set_graph_rule(&self, whose: &Whose, allow: bool, about: About, value: &str) -> Result<GraphRule, Refusal> {
        let value = about.value(value)?;
        self.write(|t| {
            let Of(role, user) = Of::find(t, whose)?;
            t.execute(
                "DELETE FROM graph_rules WHERE role IS ?1 AND user IS ?2 AND kind = ?3 AND value = ?4",
                params![role, user, about.name(), value],
            )?;
            t.execute(
                "INSERT INTO graph_rules (role, user, allow, kind, value) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![role, user, allow, about.name(), value],
            )?;
            let id = t.last_insert_rowid();
            let count: i64 = t.query_row(
                "SELECT count(*) FROM graph_rules WHERE role IS ?1 AND user IS ?2",
                params![role, user],
                |row| row.get(0),
            )?;
            if count > RULES_MAX {
                return Err(Refusal::Conflict(format!("there are {RULES_MAX} rules already")));
            }
            Ok(GraphRule { id, allow, about, value })
        })
    }

    /// A rule, and whose it is.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], [`Refusal::Failed`].
    pub fn graph_rule(&self, id: i64) -> Result<(Whose, GraphRule), Refusal> {
        let all = self.graph_rights()?;
        let found = all.into_iter().find_map(|of| {
            let rule = of.rules.into_iter().find(|rule| rule.id == id)?;
            Some((of.whose, rule))
        });
        found.ok_or(Refusal::NotFound("rule"))
    }

    /// Forgets a rule.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], [`Refusal::Failed`].
    pub fn remove_graph_rule(&self, id: i64) -> Result<(), Refusal> {
        let removed = self.write(|t| Ok(t.execute("DELETE FROM graph_rules WHERE id = ?1", [id])?))?;
        if removed == 0 { Err(Refusal::NotFound("rule")) } else { Ok(()) }
    }

    /// Says whether that is seen which no rule speaks about; none is, for a user, as their role has it.
    ///
    /// # Errors
    /// [`Refusal::BadValue`] for none of a role, [`Refusal::NotFound`] for a user, [`Refusal::Conflict`] for
    /// administrators, [`Refusal::Failed`].
    pub fn set_graph_default(&self, whose: &Whose, everything: Option<bool>) -> Result<(), Refusal> {
        if matches!(whose, Whose::Role(_)) && everything.is_none() {
            return Err(Refusal::value("default", "a role sees everything or nothing that no rule speaks about"));
        }
        self.write(|t| {
            let Of(role, user) = Of::find(t, whose)?;
            t.execute("DELETE FROM graph_defaults WHERE role IS ?1 AND user IS ?2", params![role, user])?;
            if let Some(everything) = everything {
                t.execute(
                    "INSERT INTO graph_defaults (role, user, everything) VALUES (?1, ?2, ?3)",
                    params![role, user, everything],
                )?;
            }
            Ok(())
        })
    }
}

/// What a user may do by their role, and what they see of graphs; none is everything.
pub(crate) fn rights(
    c: &Connection,
    user: &User,
    mask_below: Role,
) -> Result<(Permissions, Option<Arc<GraphScope>>), Refusal> {
    Ok((Permissions::of(user.role, mask_below), scope(c, user.id, user.role)?.map(Arc::new)))
}

fn scope(c: &Connection, user: i64, role: Role) -> Result<Option<GraphScope>, Refusal> {
    if role == Role::Administrator {
        return Ok(None);
    }
    let (of_user, of_role) = (Of(None, Some(user)), Of(Some(role.name()), None));
    let everything = match default_of(c, &of_user)? {
        Some(everything) => everything,
        None => default_of(c, &of_role)?.unwrap_or(true),
    };
    let scope = GraphScope { everything, of_user: rules_of(c, &of_user)?, of_role: rules_of(c, &of_role)? };
    let hides = !everything || scope.of_user.iter().chain(&scope.of_role).any(|rule| !rule.allow);
    Ok(hides.then_some(scope))
}

fn default_of(c: &Connection, Of(role, user): &Of) -> Result<Option<bool>, Refusal> {
    let mut one = c.prepare_cached("SELECT everything FROM graph_defaults WHERE role IS ?1 AND user IS ?2")?;
    Ok(one.query_row(params![role, user], |row| row.get(0)).optional()?)
}

fn rules_of(c: &Connection, Of(role, user): &Of) -> Result<Vec<GraphRule>, Refusal> {
    let mut all =
        c.prepare_cached("SELECT id, allow, kind, value FROM graph_rules WHERE role IS ?1 AND user IS ?2 ORDER BY id")?;
    let rows = all.query_map(params![role, user], rule_of)?;
    rows.map(|row| {
        let (id, allow, kind, value) = row?;
        // A kind that is not known here came of a later program: what it denied must not be seen.
        let about = About::named(&kind).map_err(|_| Refusal::Failed(format!("a rule about '{kind}' is not known")))?;
        Ok(GraphRule { id, allow, about, value })
    })
    .collect()
}

fn rule_of(row: &Row<'_>) -> rusqlite::Result<(i64, bool, String, String)> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::tests::{NOW, fixture};
    use crate::auth::{NewUser, Permission, UserChange};

    fn values(rules: &[GraphRule]) -> Vec<(bool, &str)> {
        rules.iter().map(|rule| (rule.allow, rule.value.as_str())).collect()
    }

    #[test]
    fn rules_of_a_user_and_of_their_role_come_together() {
        let office = fixture();
        let desk = &office.desk;
        let new = NewUser { name: "anna", display_name: "", role: Role::Viewer, password: None };
        desk.add_user(&new, 1).unwrap();
        let (anna, viewers) = (Whose::User("Anna".to_owned()), Whose::Role(Role::Viewer));
        assert_eq!(desk.graph_scope_of(&anna), Ok(None));
        desk.set_graph_rule(&viewers, true, About::Site, "London").unwrap();
        assert_eq!(desk.graph_scope_of(&anna), Ok(None), "where everything is seen, to allow hides nothing");
        desk.set_graph_default(&viewers, Some(false)).unwrap();
        desk.set_graph_rule(&anna, false, About::GraphTitle, " *CPU* ").unwrap();
        let scope = desk.graph_scope_of(&anna).unwrap().unwrap();
        assert!(!scope.everything);
        assert_eq!((values(&scope.of_user), values(&scope.of_role)), (vec![(false, "*CPU*")], vec![(true, "London")]));
        // What is said again holds.
        let rule = desk.set_graph_rule(&anna, true, About::GraphTitle, "*CPU*").unwrap();
        assert_eq!(values(&desk.graph_scope_of(&anna).unwrap().unwrap().of_user), [(true, "*CPU*")]);
        assert_eq!(desk.graph_rule(rule.id), Ok((Whose::User("anna".to_owned()), rule.clone())));
        desk.set_graph_default(&anna, Some(true)).unwrap();
        assert_eq!(desk.graph_scope_of(&anna), Ok(None));
        desk.set_graph_default(&anna, None).unwrap();
        assert!(desk.graph_scope_of(&anna).unwrap().is_some());
        let all = desk.graph_rights().unwrap();
        assert_eq!(all.iter().map(|of| of.rules.len()).collect::<Vec<_>>(), [1, 0, 0, 1]);
        desk.remove_graph_rule(rule.id).unwrap();
        assert_eq!(desk.remove_graph_rule(rule.id), Err(Refusal::NotFound("rule")));
        // Another role is other rules; with the user go theirs.
        let role = Some(Role::Support);
        desk.set_graph_rule(&anna, false, About::Graph, "7").unwrap();
        desk.change_user("anna", &UserChange { role, ..UserChange::default() }).unwrap();
        assert!(desk.graph_scope_of(&anna).unwrap().unwrap().of_role.is_empty());
        desk.remove_user("anna").unwrap();
        assert_eq!(desk.graph_rights().unwrap().len(), 3);
    }

    #[test]
    fn who_sees_a_part_of_graphs_reads_alerts_and_nothing_that_is_of_all() {
        let office = fixture();
        office.has_user("anna", Role::Support);
        let signed_in = office.signed_in("anna");
        let viewer = || office.viewer_of_cookie(signed_in.cookie.expose(), NOW).unwrap();
        assert_eq!((viewer().graphs.is_none(), viewer().need_all_graphs()), (true, Ok(())));
        office.set_graph_rule(&Whose::Role(Role::Support), false, About::Site, "London").unwrap();
        let narrowed = viewer();
        assert!(narrowed.may(Permission::AlertsRead) && narrowed.may(Permission::AlertsOperate));
        assert!(matches!(narrowed.need_all_graphs(), Err(Refusal::Forbidden(why)) if why.contains("hidden")));
        let scope = narrowed.graphs.unwrap();
        assert_eq!(values(&scope.of_role), [(false, "London")]);
        let rule = GraphScopeRule { allow: false, kind: "site".to_owned(), value: "London".to_owned() };
        assert_eq!(scope.told().levels[1][0], rule);
        assert_eq!(office.signed_in("anna").viewer.graphs, Some(scope));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let office = fixture();
        let desk = &office.desk;
        let viewers = Whose::Role(Role::Viewer);
        for (about, value) in
            [(About::Device, "edge-1"), (About::Graph, "0"), (About::Site, "  "), (About::Tree, &"x".repeat(256))]
        {
            assert!(matches!(desk.set_graph_rule(&viewers, true, about, value), Err(Refusal::BadValue { .. })));
        }
        assert!(About::named("planet").is_err());
        let boss = Whose::Role(Role::Administrator);
        assert!(matches!(desk.set_graph_rule(&boss, false, About::Site, "*"), Err(Refusal::Conflict(_))));
        assert!(matches!(desk.set_graph_default(&boss, Some(false)), Err(Refusal::Conflict(_))));
        assert!(matches!(desk.set_graph_default(&viewers, None), Err(Refusal::BadValue { .. })));
        let nobody = Whose::User("nobody".to_owned());
        assert!(desk.set_graph_rule(&nobody, true, About::Site, "*").is_err());
        for number in 1..=RULES_MAX {
            desk.set_graph_rule(&viewers, true, About::Device, &number.to_string()).unwrap();
        }
        let more = desk.set_graph_rule(&viewers, true, About::Device, "1000");
        assert!(matches!(more, Err(Refusal::Conflict(_))));
        // The same once more is no more.
        desk.set_graph_rule(&viewers, false, About::Device, "7").unwrap();
    }
}
