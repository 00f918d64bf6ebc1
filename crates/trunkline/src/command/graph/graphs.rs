//! Graphs of many data sources, and titles.

use super::node::Place;
use super::operate::tell;
use crate::failure::Failure;
use serde_json::json;
use trunkline_contract::graph::{GraphList, GraphShown, GraphTemplate, GraphTemplateList, GraphsWanted, Question};
use trunkline_kit::exit::Exit;

/// Graphs that one graph is made of.
const GRAPHS_MAX: u32 = 500;

/// What is done with graphs.
#[derive(Debug, clap::Subcommand)]
pub enum Graphs {
    /// Combine graphs into one: sum, average, maximum or stack
    Sum(Sum),
    /// Change the title or template of a graph
    Retitle(Retitle),
    /// List the graph templates
    Templates {
        #[command(flatten)]
        place: Place,
    },
}

/// A graph of many.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline graph sum 'All uplinks' uplink bits            of the graphs whose titles have both words\n  \
    trunkline graph sum Customers --graphs 12,14,20 --template interfaces-stacked\n\n\
    The template says how: interfaces-sum, interfaces-max, interfaces-stacked, or one of yours with `aggregate`.")]
pub struct Sum {
    /// Title
    #[arg(value_name = "TITLE")]
    title: String,
    /// Words in the titles of the graphs to combine; -word excludes
    #[arg(value_name = "WORD", required_unless_present = "graphs", conflicts_with = "graphs")]
    words: Vec<String>,
    /// Numbers of the graphs to combine
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    graphs: Vec<u32>,
    /// The graph template
    #[arg(long, value_name = "NAME", default_value = "interfaces-sum")]
    template: String,
    #[command(flatten)]
    place: Place,
}

/// Another title.
#[derive(Debug, clap::Args)]
pub struct Retitle {
    /// Its number
    #[arg(value_name = "GRAPH")]
    graph: u32,
    /// Title with placeholders such as |device|; an empty one is the title of the template
    #[arg(value_name = "TITLE", required_unless_present = "template")]
    title: Option<String>,
    /// Another graph template for the same data sources
    #[arg(long, value_name = "NAME")]
    template: Option<String>,
    #[command(flatten)]
    place: Place,
}

impl Graphs {
    /// Has it done.
    ///
    /// # Errors
    /// What they say against it; the poller is not running.
    pub fn run(&self) -> Result<Exit, Failure> {
        match self {
            Graphs::Sum(sum) => sum.run(),
            Graphs::Retitle(Retitle { graph, title, template, place }) => {
                place.change(&json!({ "do": "graph", "id": graph, "title": title, "template": template }))?;
                let shown: GraphShown = place.question(Question::Graph { id: *graph })?;
                tell(place, &shown, |shown, out| writeln!(out, "graph {graph} is {}", shown.brief.title))
            }
            Graphs::Templates { place } => {
                let reply: GraphTemplateList = place.question(Question::GraphTemplates { graphs: None })?;
                tell(place, &reply, |reply, out| {
                    for GraphTemplate { name, title, of_many, .. } in &reply.templates {
                        let of = if *of_many { "of many graphs" } else { "" };
                        writeln!(out, "{name:<28} {title}  {of}")?;
                    }
                    Ok(())
                })
            }
        }
    }
}

impl Sum {
    fn run(&self) -> Result<Exit, Failure> {
        let Sum { title, words, graphs, template, place } = self;
        let graphs = if graphs.is_empty() { found(place, &words.join(" "))? } else { graphs.clone() };
        place.change(&json!({ "do": "graph", "template": template, "title": title, "graphs": graphs }))?;
        let reply = json!({ "title": title, "of": graphs });
        tell(place, &reply, |_, out| writeln!(out, "{title} is made of {} graphs", graphs.len()))
    }
}

/// The graphs whose titles have these words; with more than one graph can be made of nothing is guessed.
fn found(place: &Place, words: &str) -> Result<Vec<u32>, Failure> {
    let wanted = GraphsWanted { text: Some(words.to_owned()), limit: Some(GRAPHS_MAX), ..GraphsWanted::default() };
    let GraphList { total, graphs } = place.question(Question::Graphs(wanted))?;
    if total == 0 || total > u64::from(GRAPHS_MAX) {
        let why = format!("{total} graphs have '{words}' in their titles: 1 to {GRAPHS_MAX} can be combined");
        return Err(Failure::Failed(why));
    }
    Ok(graphs.iter().map(|graph| graph.id).collect())
}
