//! `hostcheck diff`: the changes from one run to another.

use std::path::PathBuf;

use reports::Versus;

use super::folder;
use crate::exit::{EXIT_FAILED, EXIT_PASSED, Outcome};
use crate::print::out;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "exit codes: 0 the second run is no worse, 1 a check broke or a cell has lost its result, 2 bad usage"
)]
pub struct Args {
    /// The first run: the folder that it wrote its reports to, or its `events.jsonl`.
    before: PathBuf,
    /// The second run.
    now: PathBuf,
    /// Print one JSON object, or one for each part where the folders hold two.
    #[arg(long)]
    json: bool,
    /// Print Markdown, for a comment on a pull request: only what changed.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

pub(super) fn main(args: &Args) -> Outcome {
    let (before, now) = (folder::parts(&args.before)?, folder::parts(&args.now)?);
    let names = |parts: &[folder::Part]| parts.iter().map(|part| part.name).collect::<Vec<_>>();
    // Where each folder holds one part, the two are compared whatever the folders are called.
    anyhow::ensure!(
        names(&before) == names(&now) || (before.len() == 1 && now.len() == 1),
        "{} and {} don't hold the same parts; name the one to compare in each, like {}",
        args.before.display(),
        args.now.display(),
        args.before.join(folder::PARTS[0]).display()
    );
    let mut worse = false;
    if args.markdown {
        out("### MCP compatibility\n");
    }
    for (before, now) in before.iter().zip(&now) {
        let versus = Versus::new(&before.stream, &now.stream);
        worse |= versus.is_worse();
        match now.name {
            _ if args.json => out(&serde_json::to_string(&versus)?),
            Some(name) if args.markdown => out(&format!("**{name}**: {}", versus.markdown())),
            None if args.markdown => out(&versus.markdown()),
            Some(name) => out(&format!("{name}:\n{}", versus.text())),
            None => out(&versus.text()),
        }
    }
    Ok(if worse { EXIT_FAILED } else { EXIT_PASSED })
}
