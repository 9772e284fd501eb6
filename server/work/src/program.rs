//! A kind of work: a program with its arguments, without a shell.
//! It must never give the program more of the environment than the request names, nor keep more output than its bounds.

use std::path::PathBuf;
use std::sync::Arc;

use entraclaw_seams::programs::{Programs, Start, SystemPrograms};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::attend::{Attended, attend};
use crate::run::{Kind, Outcome, Running};

/// Most arguments of a program, its name included.
const ARGUMENTS_MAX: usize = 1_000;

/// The program to run, as the request describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramSpec {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The absolute path of its working folder.
    pub folder: PathBuf,
    /// The names of the environment variables that it gets from this process.
    #[serde(default)]
    pub environment: Vec<String>,
}

/// The kind `program`.
#[derive(Clone)]
pub struct Program {
    environment: Vec<(String, String)>,
    programs: Arc<dyn Programs>,
}

impl Program {
    /// The kind with the environment from which a request may choose.
    pub fn new(environment: Vec<(String, String)>) -> Self {
        Self { environment, programs: Arc::new(SystemPrograms) }
    }
}

impl Kind for Program {
    fn name(&self) -> &'static str {
        "program"
    }

    fn run(&self, running: Running) -> BoxFuture<'static, Outcome> {
        let spec = serde_json::from_value::<ProgramSpec>(running.request.ask.what.clone());
        let Self { environment, programs } = self.clone();
        async move {
            let spec = match spec.map_err(|error| error.to_string()).and_then(checked) {
                Ok(spec) => spec,
                Err(problem) => return Outcome::Failed(format!("the program can't be run: {problem}")),
            };
            let environment =
                environment.into_iter().filter(|(name, _)| spec.environment.contains(name)).collect();
            let start =
                Start { argv: spec.argv, folder: spec.folder, environment, has_input: false };
            let child = match programs.start(&start) {
                Ok(child) => child,
                Err(error) => {
                    return Outcome::Failed(format!(
                        "the program {:?} could not be started: {error}; is it installed, and is the folder {} there?",
                        start.argv[0],
                        start.folder.display()
                    ));
                }
            };
            match attend(child, None, &running, |bytes| running.say(bytes)).await {
                Ok(attended) => outcome(attended),
                Err(error) => {
                    Outcome::Failed(format!("its process could not be recorded in its folder: {error}"))
                }
            }
        }
        .boxed()
    }
}

fn outcome(Attended { exit, complaint }: Attended) -> Outcome {
    match exit {
        Some(Ok(exit)) if exit.is_success() => Outcome::Done,
        Some(Ok(exit)) if complaint.is_empty() => {
            Outcome::Failed(format!("the program ended with {exit} and said nothing on stderr"))
        }
        Some(Ok(exit)) => {
            Outcome::Failed(format!("the program ended with {exit}; the end of its stderr: {complaint}"))
        }
        Some(Err(error)) => Outcome::Failed(format!("it is unknown how the program ended: {error}")),
        None => Outcome::Cancelled,
    }
}

fn checked(spec: ProgramSpec) -> Result<ProgramSpec, String> {
    let Some(program) = spec.argv.first() else {
        return Err("`argv` is empty; name the program in it".to_owned());
    };
    if program.is_empty() || spec.argv.len() > ARGUMENTS_MAX {
        return Err(format!("`argv` must name a program and at most {ARGUMENTS_MAX} arguments"));
    }
    if spec.argv.iter().any(|argument| argument.contains('\0')) {
        return Err("an argument has a NUL character; leave it out".to_owned());
    }
    if !spec.folder.is_absolute() || !spec.folder.is_dir() {
        return Err(format!("{} is not the absolute path of a folder", spec.folder.display()));
    }
    Ok(spec)
}
