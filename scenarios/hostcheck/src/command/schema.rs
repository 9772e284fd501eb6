//! `hostcheck schema`: the JSON Schemas of this project's documents, for editors and for programs that read
//! them.

use crate::exit::{EXIT_PASSED, Outcome};
use crate::hint;
use crate::print::out;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The schema to print, like `scenario` or `profile`; without it, all are listed.
    name: Option<String>,
    /// Print the list as one JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(super) fn main(args: &Args) -> Outcome {
    let Some(name) = &args.name else {
        for name in schemas::own::names() {
            out(&if args.json { serde_json::json!({"name": name}).to_string() } else { name.to_owned() });
        }
        return Ok(EXIT_PASSED);
    };
    let Some(text) = schemas::own::text(name) else {
        let names: Vec<&str> = schemas::own::names().collect();
        anyhow::bail!(
            "there is no schema `{name}`; {}",
            hint::or_else(name, names, "see `hostcheck schema`")
        );
    };
    out(text.trim_end());
    Ok(EXIT_PASSED)
}
