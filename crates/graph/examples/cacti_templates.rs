//! What becomes of an export or a package of Cacti's templates: `cargo run -p trunkline-graph --example cacti_templates
//! FILE.xml` prints the templates as TOML, and behind them what is not taken over.

use trunkline_graph::cacti::{Options, convert, exchange};
use trunkline_graph::inventory::Inventory;
use trunkline_graph::template::write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("a file is wanted")?;
    let read = exchange(&std::fs::read_to_string(&path)?)?;
    let options = Options { path_cacti: "/usr/share/cacti/site".to_owned(), queries: read.queries };
    let import = convert(&read.tables, &options, &Inventory::default());
    print!("{}", write(&import.library));
    for (told, count) in &import.told {
        println!("# {count} x {told}");
    }
    for told in &read.told {
        println!("# {told}");
    }
    Ok(())
}
