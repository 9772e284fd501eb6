//! `simulation list`.

use hostcheck::exit::{EXIT_PASSED, Outcome};
use hostcheck::print::out;
use scenario::{Hosts, word};
use serde_json::json;

use super::select;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Suites, scenario ids, files or folders; with --protocol rows or areas; all when left out.
    suites: Vec<String>,
    /// List the rows of the protocol instead: what a server of your own is judged by.
    #[arg(long)]
    protocol: bool,
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(super) fn main(args: &Args) -> Outcome {
    if args.protocol {
        return hostcheck::command::server::list(&args.suites, args.json);
    }
    let scenarios = select::scenarios(&args.suites)?;
    let width = scenarios.iter().map(|s| s.id().len()).max().unwrap_or(0);
    for loaded in &scenarios {
        let scenario = &loaded.scenario;
        let hosts = match &scenario.hosts {
            Hosts::All => vec!["all".to_owned()],
            Hosts::Named(names) => names.clone(),
        };
        let modes: Vec<String> = scenario.mode.iter().map(word).collect();
        if args.json {
            out(&json!({
                "id": loaded.id(), "title": scenario.title, "area": scenario.requirement.area,
                "level": word(scenario.requirement.level), "says": scenario.requirement.says,
                "source": scenario.requirement.source, "file": loaded.file, "hosts": hosts, "modes": modes,
            })
            .to_string());
        } else {
            out(&format!("{:width$}  {:11}  {}", loaded.id(), modes.join(","), scenario.title));
        }
    }
    if !args.json {
        out(&format!("{} scenarios", scenarios.len()));
    }
    Ok(EXIT_PASSED)
}
