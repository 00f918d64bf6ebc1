//! `trunkline sim`: a seeded world, as packets and as truth.

use crate::bar::Bar;
use crate::failure::Failure;
use crate::output::{cannot_write, create};
use crate::show::figure;
use clap::builder::{PossibleValue, PossibleValuesParser};
use serde_json::Value;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use trunkline_kit::exit::Exit;
use trunkline_sim::{Preset, Settings};

/// Generate a capture of simulated calls, with the ground truth
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline sim -w demo.pcap --truth demo.jsonl    something of everything\n  \
    trunkline sim --preset impaired --calls 1000 -w - | trunkline read -\n  \
    trunkline sim --preset mixed --calls 100000 -w - | trunkline read -\n  \
    trunkline sim --preset mixed --faults 0.3 -w mixed.pcap --truth mixed.jsonl\n  \
    trunkline sim --set impairments.loss_max=0.1 --set media=true -w lossy.pcap\n  \
    trunkline sim --settings                         all settings, as JSON\n\n\
    The same settings make the same octets on every machine.")]
pub struct Sim {
    /// Preset
    #[arg(long, default_value = "demo", value_parser = presets())]
    preset: String,
    /// Random seed
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Number of calls
    #[arg(long, value_name = "N")]
    calls: Option<u64>,
    /// New calls per second
    #[arg(long, value_name = "N")]
    rate: Option<f64>,
    /// Share of the calls with a planted fault, 0 to 1
    #[arg(long, value_name = "SHARE")]
    faults: Option<f64>,
    /// Share of the calls that are close to a fault, 0 to 1
    #[arg(long, value_name = "SHARE")]
    near_misses: Option<f64>,
    /// Signalling only
    #[arg(long)]
    no_media: bool,
    /// Any setting, with its name from --settings; repeat the option for more
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Print the settings as JSON and exit
    #[arg(long, conflicts_with_all = ["write", "truth"])]
    settings: bool,
    /// The capture, pcap with nanoseconds; - is standard output
    #[arg(short, long, value_name = "FILE", required_unless_present = "settings")]
    #[arg(value_hint = clap::ValueHint::FilePath)]
    write: Option<PathBuf>,
    /// The ground truth, one JSON object per line
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    truth: Option<PathBuf>,
}

fn presets() -> PossibleValuesParser {
    PossibleValuesParser::new(Preset::ALL.map(|(name, preset)| PossibleValue::new(name).help(preset.about())))
}

impl Sim {
    /// Makes the world.
    pub fn run(&self) -> Result<Exit, Failure> {
        let settings = self.wanted()?;
        let Some(path) = &self.write else {
            let text = serde_json::to_string_pretty(&settings).map_err(|e| Failure::Failed(e.to_string()))?;
            writeln!(io::stdout(), "{text}")?;
            return Ok(Exit::Done);
        };
        if self.truth.as_ref().is_some_and(|truth| truth == path) {
            return Err(Failure::Usage("--write and --truth name the same file: they need two".to_owned()));
        }
        let mut packets = create(path)?;
        let mut truth = match &self.truth {
            Some(path) => Some(create(path)?),
            None => None,
        };
        let mut bar = Bar::start();
        let written = trunkline_sim::write(&settings, &mut packets, truth.as_mut(), &mut |over, _| {
            bar.draw(over, settings.calls, || format!("{over} of {}", figure::of(settings.calls, "call", "calls")));
        })
        .map_err(|e| cannot_write(path, &e))?;
        bar.end();
        packets.flush().map_err(|e| cannot_write(path, &e))?;
        if let (Some(out), Some(path)) = (&mut truth, &self.truth) {
            out.flush().map_err(|e| cannot_write(path, &e))?;
        }
        if path.as_os_str() != "-" {
            tell(path, settings.seed, &written);
        }
        Ok(Exit::Done)
    }

    /// The preset, then `--set`, then the options; checked as a whole.
    fn wanted(&self) -> Result<Settings, Failure> {
        let preset = self.preset.parse::<Preset>().map_err(Failure::Usage)?;
        let mut settings = assign(&Settings::preset(preset), &self.set).map_err(Failure::Usage)?;
        settings.seed = self.seed.unwrap_or(settings.seed);
        settings.calls = self.calls.unwrap_or(settings.calls);
        settings.calls_per_second = self.rate.unwrap_or(settings.calls_per_second);
        settings.faults = self.faults.unwrap_or(settings.faults);
        settings.near_misses = self.near_misses.unwrap_or(settings.near_misses);
        settings.media &= !self.no_media;
        settings.check().map_err(|mistakes| Failure::Usage(mistakes.join("\n")))?;
        Ok(settings)
    }
}

/// Says at standard error what was made.
fn tell(path: &Path, seed: u64, written: &trunkline_sim::Written) {
    let totals = &written.totals;
    let (calls, packets) = (figure::of(totals.calls, "call", "calls"), figure::of(totals.packets, "packet", "packets"));
    let octets = figure::octets(written.file_octets);
    let _ = writeln!(io::stderr(), "{calls}, {packets}, {octets} written to {}, seed {seed}", path.display());
}

/// Sets fields by their names, `impairments.loss_max=0.1`; all mistakes are told at once.
fn assign(settings: &Settings, assignments: &[String]) -> Result<Settings, String> {
    let mut value = serde_json::to_value(settings).map_err(|e| e.to_string())?;
    let mistakes: Vec<String> = assignments.iter().filter_map(|text| set(&mut value, text).err()).collect();
    if !mistakes.is_empty() {
        return Err(mistakes.join("\n"));
    }
    serde_json::from_value(value).map_err(|e| format!("--set: {e}"))
}

fn set(settings: &mut Value, assignment: &str) -> Result<(), String> {
    let wrong = |why: &str| format!("--set {assignment}: {why}");
    let (name, text) = assignment.split_once('=').ok_or_else(|| wrong("NAME=VALUE is needed"))?;
    let mut field = settings;
    for part in name.split('.') {
        let object = field.as_object_mut().ok_or_else(|| wrong("it has no parts"))?;
        let names = object.keys().cloned().collect::<Vec<_>>().join(", ");
        field = object.get_mut(part).ok_or_else(|| wrong(&format!("there is no {part}; there are {names}")))?;
    }
    // What is no JSON is a text: --set tunnel=vlan.
    *field = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_setting_can_be_set_and_mistakes_are_told_together() {
        let set =
            |list: &[&str]| assign(&Settings::default(), &list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>());
        let settings = set(&["impairments.loss_max=0.25", "tunnel=vlan", "calls=7"]).unwrap();
        assert_eq!((settings.impairments.loss_max, settings.calls), (0.25, 7));
        let wrong = set(&["impairments.los=1", "calls"]).unwrap_err();
        assert!(wrong.contains("loss_max") && wrong.contains("NAME=VALUE"), "{wrong}");
        assert!(set(&["calls=many"]).is_err());
    }
}
