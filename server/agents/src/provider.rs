//! The provider `ask`: turns a call into a job of the kind `agent`, waits for it as long as the host waits, and answers.
//!
//! It must never keep a host waiting beyond its limit, nor start anything for a question that is wrong.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use entraclaw_inbox::journal::ConsumerName;
use entraclaw_inbox::provider::reads_as;
use entraclaw_mcp::hosts::HOSTS;
use entraclaw_mcp::message::Object;
use entraclaw_mcp::{
    Answer, Arguments, Begun, Beyond, Call, Caller, Connection, Era, Offer, Offers, Provider, Receipt,
    Refusal,
};
use entraclaw_sanitize::clean_line;
use entraclaw_seams::random::Random;
use entraclaw_work::{Ask, Limits, Works};
use serde_json::json;
use tokio::time::Instant;

use crate::agent::{AGENTS, Agent};
use crate::answered::{Answered, Kept};
use crate::command_line::{Choices, CommandLine};
use crate::failure::Class;
use crate::find::{Finder, Found, Missing, Place};
use crate::permissions::Permissions;
use crate::question::{Asking, Bounds, Question, cannot_be_kept};
use crate::task::{KIND, Task, Warm, WarmLine};
use crate::tasks::{TaskCalls, Tasks};
use crate::tools::{SET, tools};
use crate::wait::{Waiting, wait};
use crate::warm::Pool;
use crate::{root, ticket};

/// How long an agent may take to end whose time is over.
const AFTER_TIME_LIMIT: Duration = Duration::from_secs(60);
/// The default number of sessions in a list.
const SESSIONS: u64 = 20;

/// The operator's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The most that `ask` may permit.
    pub permissions: Permissions,
    /// The model of Copilot if a call names none.
    pub default_model: Option<String>,
    /// Longest wait for an answer on a host that progress keeps waiting.
    pub wait: Duration,
    /// When an agent is ended that still works.
    pub time_limit: Duration,
    /// How many agents may run at once.
    pub at_once: u32,
    /// How many programs of agents may stand by for the next question.
    pub warm: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            permissions: Permissions::All,
            default_model: None,
            wait: Duration::from_secs(600),
            time_limit: Duration::from_secs(3_600),
            at_once: 4,
            warm: 0,
        }
    }
}

/// The parts of the provider.
pub struct AskParts {
    /// The operator's settings.
    pub settings: Settings,
    /// The programs and folders of the machine.
    pub finder: Arc<dyn Finder>,
    /// Begins the jobs.
    pub works: Works,
    /// The source of session ids.
    pub random: Arc<dyn Random>,
    /// The consumer of the inbox if it is fixed; otherwise the host's family.
    pub consumer: Option<ConsumerName>,
    /// Whether this server offers the inbox, so that a late answer wakes the agent.
    pub has_inbox: bool,
}

/// The provider `ask`.
pub struct AskProvider {
    parts: AskParts,
    /// Answers that have not left yet.
    answered: Answered,
    /// Questions that go on as tasks.
    tasks: Tasks,
    pool: Pool,
}

impl AskProvider {
    /// The provider from its parts.
    pub fn new(parts: AskParts) -> Self {
        let pool = Pool::new(parts.works.clone(), parts.settings.warm);
        Self { parts, answered: Answered::default(), tasks: Tasks::default(), pool }
    }
}

impl Provider for AskProvider {
    fn offers(&self) -> Offers {
        let tools = tools(self.parts.settings.permissions, self.parts.has_inbox);
        let offer = |tool: rmcp::model::Tool| {
            let may_be_task = matches!(&*tool.name, "ask" | "suggest" | "explain");
            Offer { may_be_task, ..Offer::new(SET, tool) }
        };
        Offers { tools: tools.into_iter().map(offer).collect(), ..Offers::default() }
    }

    fn call(&mut self, call: Call<'_>, connection: &mut Connection) -> Result<Begun, Refusal> {
        match call.tool {
            "ask" => self.ask(Asking::Ask, call, connection),
            "suggest" => self.ask(Asking::Suggest, call, connection),
            "explain" => self.ask(Asking::Explain, call, connection),
            "ask_status" => self.status(call.arguments),
            "ask_cancel" => self.cancel(call.arguments),
            "list_sessions" => self.sessions(call.arguments),
            "agents" => {
                Arguments::new(call.arguments).finish()?;
                Ok(now(Answer::json(&json!({"agents": self.agents()}))))
            }
            // The contract's: it does not start an agent.
            _ => {
                Arguments::new(call.arguments).finish()?;
                Ok(now(Answer::text("pong")))
            }
        }
    }

    fn written(&mut self, receipt: &Receipt) {
        if let Some(kept) = self.answered.take(receipt) {
            kept.claimed.hand_on();
        }
    }

    fn taken_back(&mut self, receipt: &Receipt) {
        if let Some(Kept { claimed, is_task: true }) = self.answered.take(receipt) {
            self.tasks.hold_result(claimed);
        }
    }

    fn request(
        &mut self,
        caller: &Caller,
        method: &str,
        params: &Object,
        connection: &mut Connection,
    ) -> bool {
        caller.route.era == Era::Modern
            && method.starts_with("tasks/")
            && self.task_calls().request(caller, method, params, connection)
    }

    fn wants_roots(&self) -> bool {
        true
    }

    fn pump(&mut self, _connection: &mut Connection) {
        self.tasks.settle();
        self.pool.prepare_due();
    }

    fn deadline(&self, _connection: &Connection) -> Option<Instant> {
        self.tasks.settle_at().into_iter().chain(self.pool.due_at()).min()
    }
}

fn check_version(agent: &Agent, found: &Found) -> Result<(), Refusal> {
    if found.numbers().is_none_or(|version| version >= agent.oldest) {
        return Ok(());
    }
    let oldest = agent.oldest.map(|number| number.to_string()).join(".");
    Err(format!(
        "{} error: its version {} is too old, for it lacks flags that {oldest} has ({}: your user can renew it by `{}`)",
        agent.title,
        found.version.as_deref().unwrap_or_default(),
        Class::NotInstalled,
        agent.install
    ))
}

fn now(answer: Answer) -> Begun {
    Begun::work(std::future::ready(answer))
}

impl AskProvider {
    fn ask(&self, asking: Asking, call: Call<'_>, connection: &mut Connection) -> Result<Begun, Refusal> {
        let bounds = Bounds { permissions: self.parts.settings.permissions };
        let question = Question::read(asking, call.arguments, bounds)?;
        if let Some(folder) = &question.add_dir {
            self.check_folder(folder)?;
        }
        let found = self.find(question.agent)?;
        check_version(question.agent, &found)?;
        let client = call.caller.client.as_deref();
        let consumer =
            reads_as(self.parts.consumer.as_ref(), HOSTS, client).map_err(|error| error.to_string())?;
        let (mut ask, mut task) = self.job(&question, &found, consumer.to_string(), client)?;
        task.asks_user = call.user.can_be_asked();
        let longest = match call.beyond {
            Beyond::GivenUp => None,
            Beyond::KeptOpen(every) => Some((every, self.parts.settings.wait)),
            // A ticket would wake the model for nothing, before the answer does.
            Beyond::InBackground(every) => Some((every, self.parts.settings.time_limit + AFTER_TIME_LIMIT)),
        };
        let mut waiting = Waiting {
            works: self.parts.works.clone(),
            until: call.until,
            longest,
            progress: call.progress,
            cancellation: call.cancellation,
            user: call.user,
            title: clean_line(&format!("{}, asked \"{}\",", question.agent.title, question.title)),
            has_inbox: self.parts.has_inbox,
            answered: self.answered.clone(),
            prepares: None,
            tasks: call.caller.declares_tasks.then(|| self.tasks.clone()),
            number: connection.next_number(),
        };
        let (roots, finder, pool) = (connection.roots(), self.parts.finder.clone(), self.pool.clone());
        Ok(Begun::work(async move {
            if let Some(folder) = root::folder(roots, &*finder).await {
                task.works_in(folder);
            }
            let line = task.warm.as_ref().map(|warm| warm.line.clone());
            let standing = line.as_ref().and_then(|line| pool.of(line));
            waiting.prepares = line.map(|line| (pool, line));
            ask.what = match serde_json::to_value(task) {
                Ok(what) => what,
                Err(error) => return Answer::error(&error.to_string()),
            };
            match waiting.works.begin_at(ask, standing.as_ref()) {
                Ok(job) => wait(job, waiting).await,
                Err(error) => Answer::error(&error.to_string()),
            }
        }))
    }

    fn job(
        &self,
        question: &Question,
        found: &Found,
        consumer: String,
        client: Option<&str>,
    ) -> Result<(Ask, Task), Refusal> {
        let session = self.parts.random.uuid();
        let is_default = question.agent.name == AGENTS[0].name;
        let line = CommandLine::of(
            question,
            Choices {
                version: found.numbers(),
                default_model: self.parts.settings.default_model.as_deref().filter(|_| is_default),
                new_session: Some(&session),
            },
        );
        let line = line.ok_or_else(|| cannot_be_kept(question.agent, question.permissions))?;
        let arguments = line.warm.clone().filter(|_| self.pool.is_used());
        let mut task = Task {
            permissions: question.permissions.to_string(),
            at_once: self.parts.settings.at_once,
            ..Task::new(question.agent, found, line, self.parts.finder.folder())
        };
        task.warm = arguments.map(|arguments| Warm {
            line: WarmLine {
                agent: task.agent.clone(),
                argv: task.argv.first().cloned().into_iter().chain(arguments).collect(),
                if_listed: task.if_listed.clone(),
                folder: task.folder.clone(),
            },
            prompt: question.prompt.clone(),
            resumes: question.session.clone(),
        });
        let ask = Ask {
            kind: KIND.to_owned(),
            what: json!({}),
            title: format!("{}: {}", question.agent.name, question.title),
            consumer,
            host: client.map(str::to_owned),
            limits: Limits { time_s: self.parts.settings.time_limit.as_secs(), ..Limits::default() },
        };
        Ok((ask, task))
    }

    fn task_calls(&self) -> TaskCalls<'_> {
        TaskCalls {
            tasks: &self.tasks,
            works: &self.parts.works,
            answered: &self.answered,
            has_inbox: self.parts.has_inbox,
        }
    }

    fn check_folder(&self, folder: &Path) -> Result<(), Refusal> {
        match self.parts.finder.place(folder) {
            Place::Folder => Ok(()),
            Place::Other => Err("addDir: it is a file; give the folder that holds it".to_owned()),
            Place::Nothing => Err("addDir: there is no such folder; give one that exists".to_owned()),
        }
    }

    fn find(&self, agent: &Agent) -> Result<Found, Refusal> {
        self.parts.finder.find(agent).map_err(|missing| match missing {
            Missing::NotInstalled => format!(
                "{} error: the program `{}` is not installed here ({}: your user can install it by `{}`; the tool agents lists \
                 the others)",
                agent.title,
                agent.program,
                Class::NotInstalled,
                agent.install
            ),
            Missing::NoProgram(path) => format!(
                "{} error: {} is no program ({}: your user has to correct COPILOT_BINARY_PATH, or `copilot` in [ask] of the \
                 configuration)",
                agent.title,
                path.display(),
                Class::NotInstalled
            ),
        })
    }

    fn agents(&self) -> Vec<serde_json::Value> {
        let row = |agent: &Agent| match self.parts.finder.find(agent) {
            Ok(found) => json!({
                "agent": agent.name,
                "installed": true,
                "version": found.version,
                "signed_in": found.signed_in.map_or_else(|| json!("unknown"), |is| json!(is)),
            }),
            Err(_) => json!({"agent": agent.name, "installed": false, "install": agent.install}),
        };
        AGENTS.iter().map(row).collect()
    }

    fn status(&self, arguments: Object) -> Result<Begun, Refusal> {
        let mut given = Arguments::new(arguments);
        let ticket = given.required_text("ticket", "the id of a ticket")?;
        let offset = given.integer("offset", 0, 0, u64::MAX)?;
        given.finish()?;
        Ok(now(ticket::status(self.parts.works.storage(), &ticket, offset, self.parts.has_inbox)?))
    }

    fn cancel(&self, arguments: Object) -> Result<Begun, Refusal> {
        let mut given = Arguments::new(arguments);
        let ticket = given.required_text("ticket", "the id of a ticket")?;
        given.finish()?;
        Ok(now(ticket::cancel(&self.parts.works, &ticket)?))
    }

    fn sessions(&self, arguments: Object) -> Result<Begun, Refusal> {
        let mut given = Arguments::new(arguments);
        let limit = given.integer("limit", SESSIONS, 1, 100)?;
        given.finish()?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(now(Answer::json(&json!({"sessions": ticket::sessions(self.parts.works.storage(), limit)?}))))
    }
}
