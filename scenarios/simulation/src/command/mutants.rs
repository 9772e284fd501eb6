//! `simulation mutants`: servers with one fault each, and the rule that catches each. It judges the harness, not a server.

use hostcheck::exit::{EXIT_FAILED, EXIT_PASSED, Outcome};
use hostcheck::print::out;
use serde_json::json;

use super::select;
use crate::mutants::{MUTANTS, Mutant, Verdict};

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "exit codes: 0 each is caught by its rule, 1 one is not, 2 bad usage")]
pub(super) struct Args {
    /// Only these; all when left out.
    mutants: Vec<String>,
    /// Play this scenario instead of the one in which each must be caught.
    #[arg(long, value_name = "ID")]
    scenario: Option<String>,
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(super) fn main(args: &Args) -> Outcome {
    if let Some(unknown) = args.mutants.iter().find(|name| MUTANTS.iter().all(|m| m.id != **name)) {
        let hint = hostcheck::hint::nearest(unknown, MUTANTS.iter().map(|mutant| mutant.id)).map_or_else(
            || "without a name all are played".to_owned(),
            |best| format!("did you mean `{best}`?"),
        );
        anyhow::bail!("no mutant is named `{unknown}`; {hint}");
    }
    if let Some(id) = &args.scenario
        && select::scenarios(std::slice::from_ref(id))?.iter().all(|found| found.id() != *id)
    {
        anyhow::bail!("--scenario: `{id}` is no single scenario; see `simulation list {id}`");
    }
    let chosen =
        |mutant: &&Mutant| args.mutants.is_empty() || args.mutants.iter().any(|name| name == mutant.id);
    let (mut caught, mut played) = (0, 0);
    for mutant in MUTANTS.iter().filter(chosen) {
        let verdict = mutant.verdict(&mutant.play_in(args.scenario.as_deref().unwrap_or(mutant.scenario))?);
        played += 1;
        caught += u32::from(matches!(verdict, Verdict::Caught(_)));
        if args.json {
            out(&line(mutant, &verdict).to_string());
        } else {
            out(&row(mutant, &verdict));
        }
    }
    if !args.json {
        out(&format!("{caught} of {played} mutants are caught by the rule that should catch them"));
    }
    Ok(if caught == played { EXIT_PASSED } else { EXIT_FAILED })
}

fn row(mutant: &Mutant, verdict: &Verdict) -> String {
    let Mutant { id, does, rule, scenario, host, .. } = mutant;
    match verdict {
        Verdict::Caught(_) => format!("✓ {id:<26} {rule:<22} {scenario} on {host}: it {does}"),
        Verdict::OtherRules(said) => {
            format!("✗ {id:<26} not by {rule}, but: {}", said.first().map_or("", String::as_str))
        }
        Verdict::Survived => format!("✗ {id:<26} survived: it {does}, and {rule} did not see it"),
    }
}

fn line(mutant: &Mutant, verdict: &Verdict) -> serde_json::Value {
    let Mutant { id, does, rule, scenario, host, .. } = mutant;
    let (outcome, findings) = match verdict {
        Verdict::Caught(finding) => ("caught", vec![finding.clone()]),
        Verdict::OtherRules(said) => ("other_rules", said.clone()),
        Verdict::Survived => ("survived", Vec::new()),
    };
    json!({"mutant": id, "does": does, "rule": rule, "scenario": scenario, "host": host,
        "outcome": outcome, "findings": findings})
}
