//! `hostcheck hosts`: all profiles, one profile with its evidence, two side by side, one fact of all, or the
//! requirements of the protocol on hosts. It prints what the profiles state: an unknown fact is called
//! unknown, and the value that a fake uses instead is printed beside it.

mod diff;
mod evidence;
mod matrix;
mod protocol;

use fake_hosts::Evidence;
use serde_json::json;

use self::evidence::{add, mark};
use super::select;
use crate::exit::{EXIT_PASSED, Outcome};
use crate::host::said as value;
use crate::print::out;

#[derive(Debug, clap::Args)]
#[command(after_help = "exit codes: 0 printed, 2 bad usage")]
pub struct Args {
    /// Profiles or families to print with their evidence. Without a name, all profiles are listed.
    names: Vec<String>,
    /// Print the facts in which two profiles differ.
    #[arg(long, num_args = 2, value_names = ["HOST", "HOST"], conflicts_with_all = ["names", "matrix"])]
    diff: Option<Vec<String>>,
    /// Print one fact of all hosts, or of the named hosts. Without a fact, list the facts.
    #[arg(long, num_args = 0..=1, value_name = "FACT", default_missing_value = "")]
    matrix: Option<String>,
    /// Print the requirements of the protocol on hosts, and which hosts keep them.
    #[arg(long, conflicts_with_all = ["diff", "matrix"])]
    protocol: bool,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(super) fn main(args: &Args) -> Outcome {
    if args.protocol {
        protocol::print(&args.names, args.json)?;
        return Ok(EXIT_PASSED);
    }
    match (&args.diff, args.matrix.as_deref()) {
        (Some(two), _) => diff::print(two, args.json)?,
        (None, Some("")) => matrix::print_facts(&args.names, args.json)?,
        (None, Some(fact)) => matrix::print(fact, &args.names, args.json)?,
        (None, None) if args.names.is_empty() => list(args.json)?,
        (None, None) => profiles(&args.names, args.json)?,
    }
    Ok(EXIT_PASSED)
}

fn list(json: bool) -> anyhow::Result<()> {
    let hosts = select::hosts(&[])?;
    let width = hosts.iter().map(|host| host.id.len()).max().unwrap_or(0);
    for host in &hosts {
        let extends = host.profile.as_ref().and_then(|profile| profile.extends.as_ref());
        let facts = host.profile.iter().flat_map(|profile| profile.evidence());
        let unknown = facts.filter(Evidence::is_unknown).count();
        out(&if json {
            json!({"id": host.id, "family": host.family, "title": host.title(), "about": host.about(), "extends": extends,
                "unknown_facts": unknown})
            .to_string()
        } else if unknown > 0 {
            format!("{:width$}  {} ({unknown} facts unknown)", host.id, host.title())
        } else {
            format!("{:width$}  {}", host.id, host.title())
        });
    }
    Ok(())
}

fn profiles(names: &[String], json: bool) -> anyhow::Result<()> {
    for host in &select::hosts(names)? {
        if !json {
            out(&format!("{}  {}\n{}\n", host.id, host.title(), host.about()));
        }
        for fact in host.profile.iter().flat_map(|profile| profile.evidence()) {
            out(&if json {
                let mut line = json!({"host": host.id, "fact": fact.name, "meaning": fact.meaning});
                add(&mut line, &fact);
                line.to_string()
            } else {
                let from = if fact.stated_by == host.id {
                    String::new()
                } else {
                    format!("as {}: ", fact.stated_by)
                };
                format!("  {:<38} {:<44} {:<10} {from}{}", fact.name, value(&fact), mark(&fact), fact.source)
            });
        }
    }
    Ok(())
}
