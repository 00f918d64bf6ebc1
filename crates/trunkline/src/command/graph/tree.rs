//! `trunkline graph tree`: trees of devices and graphs.

use super::node::Place;
use super::operate::tell;
use crate::failure::Failure;
use crate::show::text::{Line, Style};
use crate::terminal::Terminal;
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{self, Write};
use trunkline_contract::graph::{GraphNode, GraphNodes, GraphTree, GraphTrees, Question};
use trunkline_kit::exit::Exit;

/// Places that are listed; a tree with more is looked at in the pages.
const LISTED_MAX: usize = 2000;
/// How graphs of a place stand.
const GROUPS: [&str; 5] = ["none", "template", "row", "device", "site"];

/// Create and change trees of devices and graphs
#[derive(Debug, clap::Subcommand)]
#[command(
    after_help = "A place is named by its path: TREE, TREE/FOLDER, TREE/FOLDER/DEVICE; names with a slash by its \
    number, as `trunkline graph tree list` tells it.\n\n\
    Examples:\n  \
    trunkline graph tree add Network\n  \
    trunkline graph tree folder Network/London\n  \
    trunkline graph tree place Network/London --device edge-1 --group template\n  \
    trunkline graph tree place Network --rule Uplinks --devices 'edge-*' --rows 'Gi0/0*' --template interface-bits\n  \
    trunkline graph tree move Network/London/edge-1 Network/Paris\n  \
    trunkline graph tree rename Network/London 'London, Docklands'\n  \
    trunkline graph tree remove Network/Paris"
)]
pub enum Tree {
    /// List trees with their contents
    List {
        #[command(flatten)]
        place: Place,
    },
    /// Create a tree
    Add {
        /// Name
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        place: Place,
    },
    /// Create a folder
    Folder {
        /// Path, the new folder last
        #[arg(value_name = "WAY")]
        way: String,
        #[command(flatten)]
        place: Place,
    },
    /// Put a device, a site, a graph, or all graphs that match a rule into a tree
    Place(Put),
    /// Move a place to another folder of its tree, or before a neighbour
    Move {
        /// The place to move
        #[arg(value_name = "WAY")]
        way: String,
        /// Target tree or folder
        #[arg(value_name = "INTO")]
        into: String,
        /// Place before this neighbour [default: last]
        #[arg(long, value_name = "WAY")]
        before: Option<String>,
        #[command(flatten)]
        place: Place,
    },
    /// Rename a tree, a folder or a rule
    Rename {
        /// Which one
        #[arg(value_name = "WAY")]
        way: String,
        /// The new name
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        place: Place,
    },
    /// Remove a tree or a place with its contents; devices and graphs are kept
    Remove {
        /// Which one
        #[arg(value_name = "WAY")]
        way: String,
        #[command(flatten)]
        place: Place,
    },
}

/// What is put where.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["device", "site", "graph", "rule"])))]
pub struct Put {
    /// The tree or folder
    #[arg(value_name = "WAY")]
    way: String,
    /// A device, with all of its graphs
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// A site, with all of its devices
    #[arg(long, value_name = "NAME")]
    site: Option<String>,
    /// A graph
    #[arg(long, value_name = "NUMBER")]
    graph: Option<u32>,
    /// A rule of this name: all matching graphs, now and later
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,
    /// Device names of the rule, with * and ?
    #[arg(long, value_name = "PATTERN", requires = "rule")]
    devices: Option<String>,
    /// Names or labels of table rows of the rule, with * and ?
    #[arg(long, value_name = "PATTERN", requires = "rule")]
    rows: Option<String>,
    /// Device site of the rule
    #[arg(long, value_name = "NAME", requires = "rule")]
    of_site: Option<String>,
    /// Graph template of the rule
    #[arg(long, value_name = "NAME", requires = "rule")]
    template: Option<String>,
    /// Order of its graphs
    #[arg(long, value_name = "WORD", default_value = "none", value_parser = PossibleValuesParser::new(GROUPS))]
    group: String,
    #[command(flatten)]
    place: Place,
}

/// A tree, or a place in one.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Found {
    tree: u32,
    #[serde(rename = "place")]
    node: Option<u32>,
}

impl Tree {
    /// Has it done.
    ///
    /// # Errors
    /// What they say against it; the poller is not running.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        match self {
            Tree::List { place } => list(place, terminal),
            Tree::Add { name, place } => done(place, &json!({ "do": "tree", "name": name }), name, "made"),
            Tree::Folder { way, place } => {
                let Some((above, name)) = way.rsplit_once('/') else {
                    let why = "a folder is in a tree: TREE/FOLDER; `tree add` makes a tree";
                    return Err(Failure::Usage(why.to_owned()));
                };
                let above = find(place, above)?;
                let order = json!({
                    "do": "place", "tree": above.tree, "parent": above.node, "kind": "folder", "name": name,
                });
                done(place, &order, way, "made")
            }
            Tree::Place(put) => put.run(),
            Tree::Move { way, into, before, place } => {
                let (from, to) = (find_place(place, way)?, find(place, into)?);
                let before = before.as_ref().map(|before| find_place(place, before)).transpose()?;
                let order = json!({ "do": "move-place", "id": from, "parent": to.node, "before": before });
                done(place, &order, way, "moved")
            }
            Tree::Rename { way, name, place } => {
                let order = match find(place, way)? {
                    Found { node: Some(node), .. } => json!({ "do": "rename-place", "id": node, "name": name }),
                    Found { tree, .. } => json!({ "do": "tree", "id": tree, "name": name }),
                };
                done(place, &order, way, &format!("is {name} now"))
            }
            Tree::Remove { way, place } => {
                let order = match find(place, way)? {
                    Found { node: Some(node), .. } => json!({ "do": "remove-place", "id": node }),
                    Found { tree, .. } => json!({ "do": "remove-tree", "id": tree }),
                };
                done(place, &order, way, "removed")
            }
        }
    }
}

impl Put {
    fn run(&self) -> Result<Exit, Failure> {
        let to = find(&self.place, &self.way)?;
        let (kind, what) = match (&self.device, &self.site, self.graph, &self.rule) {
            (Some(device), ..) => ("device", device.clone()),
            (None, Some(site), ..) => ("site", site.clone()),
            (None, None, Some(graph), _) => ("graph", graph.to_string()),
            (None, None, None, rule) => ("rule", rule.clone().unwrap_or_default()),
        };
        let mut order = json!({ "do": "place", "tree": to.tree, "parent": to.node, "kind": kind });
        match kind {
            "graph" => order["target"] = json!(self.graph),
            "rule" => {
                order["name"] = json!(what);
                order["device"] = json!(self.devices);
                order["row"] = json!(self.rows);
                order["site"] = json!(self.of_site);
                order["template"] = json!(self.template);
            }
            _ => order["of"] = json!(what),
        }
        order["group"] = json!(self.group);
        done(&self.place, &order, &format!("{kind} {what}"), &format!("stands in {}", self.way))
    }
}

fn done(place: &Place, order: &Value, name: &str, what: &str) -> Result<Exit, Failure> {
    place.change(order)?;
    tell(place, &json!({}), |_, out| writeln!(out, "{name} {what}"))
}

/// What stands in a tree or folder.
fn inside(place: &Place, at: &Found) -> Result<Vec<GraphNode>, Failure> {
    let inside: GraphNodes = place.question(Question::Nodes { tree: at.tree, parent: at.node })?;
    Ok(inside.nodes)
}

/// By its way, or a place by its number.
fn find(place: &Place, way: &str) -> Result<Found, Failure> {
    let absent = |name: &str| Failure::Failed(format!("no '{name}' in the trees: see `trunkline graph tree list`"));
    let GraphTrees { trees } = place.question(Question::Trees {})?;
    let (name, rest) = way.split_once('/').map_or((way, None), |(name, rest)| (name, Some(rest)));
    let Some(tree) = trees.iter().find(|tree| tree.name == name) else {
        let id = way.parse().map_err(|_| absent(way))?;
        let found = walk(place, trees)?.into_iter().map(|walked| walked.at).find(|at| at.node == Some(id));
        return found.ok_or_else(|| absent(way));
    };
    let mut at = Found { tree: tree.id, node: None };
    for name in rest.into_iter().flat_map(|rest| rest.split('/')) {
        let nodes = inside(place, &at)?;
        let next = nodes.iter().find(|node| node.name == name);
        at.node = Some(next.ok_or_else(|| absent(name))?.id);
    }
    Ok(at)
}

/// A place, and not a whole tree.
fn find_place(place: &Place, way: &str) -> Result<u32, Failure> {
    find(place, way)?.node.ok_or_else(|| Failure::Usage(format!("'{way}' is a tree, not a place in a tree")))
}

/// A tree or a place, as it is listed.
#[derive(Serialize)]
struct Walked {
    depth: usize,
    #[serde(flatten)]
    at: Found,
    kind: String,
    name: String,
}

/// All places.
fn walk(place: &Place, trees: Vec<GraphTree>) -> Result<Vec<Walked>, Failure> {
    let mut walked = Vec::new();
    for GraphTree { id: tree, name, nodes } in trees {
        walked.push(Walked { depth: 0, at: Found { tree, node: None }, kind: "tree".to_owned(), name });
        let mut waiting = vec![(1, nodes.into_iter())];
        while let Some((depth, nodes)) = waiting.last_mut() {
            let depth = *depth;
            let Some(GraphNode { id, kind, name, opens, .. }) = nodes.next() else {
                waiting.pop();
                continue;
            };
            let at = Found { tree, node: Some(id) };
            if opens {
                waiting.push((depth + 1, inside(place, &at)?.into_iter()));
            }
            walked.push(Walked { depth, at, kind, name });
            if walked.len() > LISTED_MAX {
                let more = format!("the trees have more than {LISTED_MAX} places: name one by its path");
                return Err(Failure::Failed(more));
            }
        }
    }
    Ok(walked)
}

/// What is listed.
#[derive(Serialize)]
struct Listed {
    places: Vec<Walked>,
}

fn list(place: &Place, terminal: &Terminal) -> Result<Exit, Failure> {
    let GraphTrees { trees } = place.question(Question::Trees {})?;
    let listed = Listed { places: walk(place, trees)? };
    tell(place, &listed, |listed, out| write(&listed.places, terminal, out))
}

fn write(places: &[Walked], terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    if places.is_empty() {
        return writeln!(out, "there are no trees: create one with `trunkline graph tree add NAME`");
    }
    for Walked { depth, at, kind, name } in places {
        let name = Line::new(terminal).with(Style::Plain, name).text();
        let number = at.node.map(|node| format!("  {node}")).unwrap_or_default();
        writeln!(out, "{}{name}  {kind}{number}", "  ".repeat(*depth))?;
    }
    Ok(())
}
