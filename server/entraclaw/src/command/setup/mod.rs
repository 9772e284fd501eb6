//! `entraclaw setup`: shows its changes to a host's files, keeps a backup beside each, and removes everything again.
//! It must never write anything while one of the files can't be changed safely.

mod disk;
mod folders;
mod receipts;
mod unattended;
mod work;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

pub(super) use self::receipts::is_set_up;
pub(super) use self::unattended::unattended;
use self::work::{Step, Work};
use super::environment::Environment;
use super::output::{self, Done};
use super::place::{Entry, Home, Place, open_home};
use super::waiter;
use crate::setup::{
    ALLOW_ANSWERS, Addition, Additions, Carrier, FirstAnswer, Host, LeftOut, Os, Places, Request, Scope,
    first_answer, recipe, runbook, sets_with, told_of_answers, told_of_idle, unified,
};
use entraclaw_inbox::notice::last_told;
use entraclaw_inbox::tool::ToolSet;
use entraclaw_session::status::amount::counted;

const EXAMPLE: &str = "\
Examples:
  entraclaw setup claude-code                   connect it, for every project of yours
  entraclaw setup codex --with queue --dry-run  show what would change, change nothing
  entraclaw setup opencode --with port=5000     with a carrier that is off by default
  entraclaw setup claude-code --with ask        with other coding agents as tools
  entraclaw setup copilot-cli --with context    with shared context, the search over all sessions, and a skill
  entraclaw setup claude-code --allow-answers   so that answers go out without a person
  entraclaw setup gemini-cli --print            one page: what to write by hand, how to start it
  entraclaw setup copilot-cli --remove          take everything out again
Carriers: claude-code channel; copilot-cli extension; codex queue; opencode port[=N]; qwen-code input-file[=PATH]. On by themselves, until --without: claude-code inbox-socket and waking-hook; qwen-code peer-protocol.
--with ask and --with context are for every host: the model gets the tools that ask other coding agents, or those of shared context, beside those of the inbox.
Each setup is whole by itself: one without --with takes an earlier carrier out again, and added tools too, which it says; one without --allow-answers takes out what that let run. A file that can't be read whole is left alone, and so are all others.
Exit codes: 0 done, or nothing to do; 1 not done, and why; 2 wrong usage.";

/// Flags of `setup`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Flags {
    /// The host to connect
    #[arg(value_enum)]
    host: Host,
    #[command(flatten)]
    home: Home,
    /// Whose files: yours, or those of the folder you are in
    #[arg(long, value_enum, default_value_t = Scope::User)]
    scope: Scope,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Remove everything that setup has written
    #[arg(long)]
    remove: bool,
    /// Print the steps to connect this host by hand; no file is read
    #[arg(long, conflicts_with_all = ["dry_run", "remove"])]
    print: bool,
    /// Additions, with commas between: `ask` for other coding agents as tools, `context` for shared context and the search over
    /// all sessions, `delegate` for the local model of a project, or a carrier that is off by default
    #[arg(long, value_name = "WHAT", value_parser = Additions::parse, num_args = 1..)]
    with: Vec<Additions>,
    /// A carrier that is on by default and not wanted
    #[arg(long, value_name = "CARRIER", value_parser = LeftOut::parse, num_args = 1..)]
    without: Vec<LeftOut>,
    /// Let the answering tools run without a question of the host, for hours without a person: send_teams_message,
    /// send_email, send_bot_message
    #[arg(long)]
    allow_answers: bool,
}

pub(super) fn run(flags: Flags) -> ExitCode {
    output::end(set_up(flags))
}

fn set_up(flags: Flags) -> Done {
    let environment = Environment::read();
    let place = Place::find(Entry::Look, flags.home.clone(), Vec::new(), &environment);
    let request = request(&flags, &place, &environment).map_err(output::usage)?;
    if flags.print {
        return Ok(output::text(&runbook(&request, &place.config.wake_ups), ExitCode::SUCCESS));
    }
    let entry = if flags.dry_run || flags.remove { Entry::Look } else { Entry::Take };
    let mut before_leaving: Vec<String> = place.without_sign_in().into_iter().collect();
    before_leaving.extend(told_of_idle(&request, &place.config.wake_ups));
    before_leaving.push(told_of_answers(&request));
    let home = open_home(entry, flags.home, &environment)?;
    let work = Work { request: &request, home };
    // Of two setups at once each would start from a file that the other has just changed.
    let lock = if flags.dry_run { None } else { work.lock()? };
    let steps = work
        .steps(flags.remove)
        .map_err(|problems| format!("{}\nnothing was written", problems.join("\nerror: ")))?;
    let done = perform(&work, &steps, flags.remove, flags.dry_run, &before_leaving);
    drop(lock);
    done
}

fn perform(work: &Work<'_>, steps: &[Step], remove: bool, dry_run: bool, before_leaving: &[String]) -> Done {
    let mut told = String::new();
    for step in steps {
        let path = step.path.display().to_string();
        told.push_str(&unified(&path, step.before.as_deref(), step.outcome.text.as_deref()));
        if let Some(real) = step.leads_to.as_ref().filter(|_| step.changes_text()) {
            // Writing to a text can't fail.
            let _ = writeln!(told, "{path}: a symlink on the way leads to {}", real.display());
        }
    }
    let changed = steps.iter().filter(|step| step.changes_text()).count();
    if changed > 0 {
        told.push('\n');
    }
    for (set, what) in [
        (ToolSet::Ask, "that ask other coding agents"),
        (ToolSet::Context, "of shared context, with their skill,"),
        (ToolSet::Delegate, "of the local model"),
    ] {
        if !remove && steps.iter().any(|step| step.drops(set)) {
            // Writing to a text can't fail.
            let _ =
                writeln!(told, "This takes the tools {what} out again, as the command has no --with {set}.");
        }
    }
    if dry_run {
        told.push_str("Nothing was written (--dry-run).\n");
        return Ok(output::text(&told, ExitCode::SUCCESS));
    }
    for step in steps {
        if let Err(problem) = work.perform(step) {
            output::text(&told, ExitCode::FAILURE);
            return Err(format!("{problem}; what was not done yet is done by running it again").into());
        }
    }
    if let Some(Err(problem)) = work.home.as_ref().map(folders::tidy) {
        output::text(&told, ExitCode::FAILURE);
        return Err(problem.into());
    }
    told.push_str(&summary(work.request, steps, changed, remove));
    if !remove {
        told.push_str("Before you leave:\n");
        for line in before_leaving {
            told.extend(["  ", line, "\n"]);
        }
    }
    Ok(output::text(&told, ExitCode::SUCCESS))
}

fn summary(request: &Request, steps: &[Step], changed: usize, remove: bool) -> String {
    let title = request.host.title();
    let scope = request.scope.name();
    let files = counted(changed as u64, "file");
    if remove {
        return match changed {
            0 => format!("Nothing of ours is in the files of {title} ({scope} scope).\n"),
            _ => format!("Taken out of {files} of {title} ({scope} scope).\n"),
        };
    }
    let mut out = match changed {
        0 => format!("{title} is connected already ({scope} scope); nothing was changed.\n"),
        _ => format!("{files} written for {title} ({scope} scope).\n"),
    };
    if steps.iter().any(|step| step.changes_text() && step.before.is_some()) {
        out.push_str("What a file was before is kept beside it, with `.entraclaw-backup` after its name.\n");
    }
    let recipe = recipe(request);
    // Writing to a text can't fail.
    let _ = write!(out, "\nStart it: {}\n", recipe.launch);
    for line in &recipe.hears {
        let _ = writeln!(out, "  {line}");
    }
    out.push_str("To know:\n");
    for line in &recipe.notes {
        let _ = writeln!(out, "  {line}");
    }
    out
}

fn request(flags: &Flags, place: &Place, environment: &Environment) -> Result<Request, String> {
    let additions: Vec<&Addition> = flags.with.iter().flat_map(|Additions(all)| all).collect();
    let carriers: Vec<Carrier> = additions
        .iter()
        .filter_map(|addition| match addition {
            Addition::Carrier(carrier) => Some(carrier.clone()),
            Addition::Ask | Addition::Context | Addition::Delegate => None,
        })
        .collect();
    let added: BTreeSet<ToolSet> = additions.iter().filter_map(|addition| addition.set()).collect();
    let with = carriers.iter().map(|carrier| ("with", carrier.name(), carrier.host()));
    let without = flags.without.iter().map(|left_out| ("without", left_out.name(), left_out.host()));
    if let Some((flag, name, host)) = without.chain(with).find(|(.., host)| *host != flags.host) {
        return Err(format!("--{flag} {name} is for {}, not for {}", host.name(), flags.host.name()));
    }
    if flags.allow_answers && first_answer(flags.host) == FirstAnswer::Unknown {
        let title = flags.host.title();
        return Err(format!(
            "{ALLOW_ANSWERS} is not for {}: it is not known how {title} lets a tool run unasked; allow it in {title} itself",
            flags.host.name()
        ));
    }
    let user = environment.user_home.clone().filter(|home| home.is_absolute());
    let user = user.ok_or("the user's folder is not known; set HOME")?;
    let home = flags.home.folder(environment).filter(|home| home.is_absolute());
    let home = home.ok_or("the home folder is not an absolute path; write it out from the root")?;
    let project =
        std::env::current_dir().map_err(|error| format!("the folder you are in can't be read: {error}"))?;
    let binary =
        std::env::current_exe().map_err(|error| format!("this program's own path is not known: {error}"))?;
    let folder = |name: &str| environment.host_folders.get(name).cloned();
    let os = if cfg!(windows) {
        Os::Windows
    } else if cfg!(target_os = "macos") {
        Os::Mac
    } else {
        Os::Linux
    };
    Ok(Request {
        host: flags.host,
        scope: flags.scope,
        carriers,
        left_out: flags.without.clone(),
        host_version: last_told(&*place.storage(), flags.host.name()),
        consumer: place.config.inbox.consumer.as_ref().map(ToString::to_string),
        given: {
            let certificates = environment.certificates.iter().map(|name| (*name).to_owned());
            environment.variables.keys().cloned().chain(certificates).collect()
        },
        sets: (!added.is_empty()).then(|| sets_with(&added, &place.config.tools)),
        for_agents: environment.needed_by(&added),
        added,
        codex: environment.program("codex").as_deref().map(plain).transpose()?,
        allow_answers: flags.allow_answers,
        waiter: waiter::beside(&binary).as_deref().map(plain).transpose()?,
        binary: plain(&binary)?,
        home_is_default: Some(&home) == environment.default_home().as_ref(),
        home: plain(&home)?,
        places: Places {
            os,
            user,
            project,
            claude: folder("CLAUDE_CONFIG_DIR"),
            copilot: folder("COPILOT_HOME"),
            codex: folder("CODEX_HOME"),
            config: folder(if os == Os::Windows { "APPDATA" } else { "XDG_CONFIG_HOME" }),
        },
    })
}

/// The path as text, if a settings file can have it on one line.
fn plain(path: &Path) -> Result<String, String> {
    match path.to_str() {
        Some(text) if !text.contains(char::is_control) => Ok(text.to_owned()),
        _ => Err(format!(
            "{}: a path with such characters can't be written into a file of settings",
            path.display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_as_it_is_or_not_at_all() {
        let path = "/home/älice/my tools/entraclaw";
        assert_eq!(plain(Path::new(path)), Ok(path.to_owned()));
        assert!(plain(Path::new("/home/alice\n/entraclaw")).unwrap_err().contains("can't be written"));
    }
}
