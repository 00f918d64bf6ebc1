//! Trees: by parent and position (1.x), or by keys of three digits a level (0.8.8).

use super::super::tables::Record;
use super::Converter;
use crate::inventory::{Change, GroupBy, Kind, Node, NodeKind, Tree};
use std::collections::HashMap;

impl<'t> Converter<'t> {
    pub(super) fn all_trees(&mut self) {
        let items = self.tables.by("graph_tree_items", "graph_tree_id");
        let rows: Vec<Record<'t>> = self.tables.rows("graph_tree").collect();
        for row in rows {
            let plain = row.text("name").trim();
            let mut numbered = (2u32..).map(|number| format!("{plain} #{number}"));
            let free = |name: &String| self.work.named(Kind::Tree, name).is_none();
            let name = Some(plain.to_owned()).filter(free).or_else(|| numbered.find(free)).unwrap_or_default();
            let id = self.work.trees().next();
            let tree = Tree { name: name.into(), order: row.number("sequence").unwrap_or(0) };
            if !matches!(row.text("enabled"), "" | "on") {
                self.tell(format!("tree '{plain}' is not shown in Cacti; here it is"));
            }
            if self.change(&format!("tree '{plain}'"), Change::Tree { id, tree }) {
                let items = items.get(row.text("id")).map(Vec::as_slice).unwrap_or_default();
                self.tree(id, items);
            }
        }
    }

    fn tree(&mut self, tree: u32, items: &[Record<'t>]) {
        let mut placed: Vec<(String, String, u32, Record<'t>)> = items.iter().map(|item| place(*item)).collect();
        // Those of 0.8.8 have what they are in before them; those of 1.x are taken as soon as it is there.
        placed.sort_by(|a, b| a.0.len().cmp(&b.0.len()).then(a.0.cmp(&b.0)));
        let mut nodes: HashMap<String, u32> = HashMap::new();
        let mut waiting = placed;
        loop {
            let before = waiting.len();
            let mut left = Vec::new();
            for (own, parent, order, item) in waiting {
                let above = match parent.as_str() {
                    "" => None,
                    parent => match nodes.get(parent) {
                        Some(node) => Some(*node),
                        None => {
                            left.push((own, parent.to_owned(), order, item));
                            continue;
                        }
                    },
                };
                if let Some(node) = self.node(tree, above, order, item) {
                    nodes.insert(own, node);
                }
            }
            if left.is_empty() {
                break;
            }
            if left.len() == before {
                for _ in left {
                    self.tell("nodes of trees are left out whose folder is not there".to_owned());
                }
                break;
            }
            waiting = left;
        }
    }

    fn node(&mut self, tree: u32, parent: Option<u32>, order: u32, item: Record<'t>) -> Option<u32> {
        let found = |map: &HashMap<u32, u32>, column| item.number::<u32>(column).and_then(|id| map.get(&id).copied());
        let title = item.text("title").trim();
        for column in ["graph_regex", "host_regex"] {
            if !item.text(column).is_empty() {
                self.tell(format!("the pattern of a node ({column} '{}') has no counterpart", item.text(column)));
            }
        }
        let kind = if !item.is_none("local_graph_id") {
            found(&self.shown, "local_graph_id").map(|graph| NodeKind::Graph { graph })
        } else if !item.is_none("host_id") {
            let by_row = item.text("host_grouping_type") == "2";
            let group = if by_row { GroupBy::Row } else { GroupBy::Template };
            found(&self.hosts, "host_id").map(|device| NodeKind::Device { device, group })
        } else if !item.is_none("site_id") {
            found(&self.sites, "site_id").map(|site| NodeKind::Site { site })
        } else {
            Some(NodeKind::Folder { name: title.into() })
        };
        let Some(kind) = kind else {
            self.tell("nodes of trees are left out whose device, site or graph is not imported".to_owned());
            return None;
        };
        let id = self.work.nodes().next();
        let node = Node { tree, parent, order, kind };
        self.change(&format!("node '{title}' of a tree"), Change::Node { id, node: Box::new(node) }).then_some(id)
    }
}

/// By what an item is known, what it is in, and its place there.
fn place(item: Record<'_>) -> (String, String, u32, Record<'_>) {
    let key = item.text("order_key");
    if key.is_empty() {
        let parent = item.text("parent");
        let parent = if parent == "0" { "" } else { parent };
        return (item.text("id").to_owned(), parent.to_owned(), item.number("position").unwrap_or(0), item);
    }
    // `001002000000..`: three digits a level, zeros behind it.
    let levels: Vec<&str> = (0..key.len() / 3).filter_map(|level| key.get(level * 3..level * 3 + 3)).collect();
    let used = levels.iter().position(|level| *level == "000").unwrap_or(levels.len());
    let own = levels.get(..used).unwrap_or_default();
    let parent = own.split_last().map_or(String::new(), |(_, above)| above.concat());
    let order = own.last().and_then(|last| last.parse().ok()).unwrap_or(0);
    (own.concat(), parent, order, item)
}
