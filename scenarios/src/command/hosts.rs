//! `hostcheck hosts`.

use serde_json::json;

use super::{EXIT_PASSED, Outcome, out, select};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Profiles or families to print with their evidence; a list of all when left out.
    names: Vec<String>,
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(super) fn main(args: &Args) -> Outcome {
    let profiles = select::hosts(&args.names)?;
    if args.names.is_empty() {
        let width = profiles.iter().map(|p| p.id.len()).max().unwrap_or(0);
        for profile in &profiles {
            out(&if args.json {
                json!({"id": profile.id, "family": profile.family, "title": profile.title(), "about": profile.about()}).to_string()
            } else {
                format!("{:width$}  {}", profile.id, profile.title())
            });
        }
        return Ok(EXIT_PASSED);
    }
    for profile in &profiles {
        if !args.json {
            out(&format!("{}  {}\n{}\n", profile.id, profile.title(), profile.about()));
        }
        for fact in profile.profile.iter().flat_map(|profile| profile.evidence()) {
            out(&if args.json {
                json!({"host": profile.id, "fact": fact.name, "value": fact.value, "mark": fact.mark.to_string(), "source": fact.source}).to_string()
            } else {
                format!(
                    "  {:<34} {:<44} {:<9} {}",
                    fact.name,
                    fact.value.to_string(),
                    fact.mark.to_string(),
                    fact.source
                )
            });
        }
    }
    Ok(EXIT_PASSED)
}
