//! The tools at work: each reads its arguments on the connection, and does the rest beside it.
//! It must never begin with an argument that is wrong, nor answer with more than a host shows.

use entraclaw_mcp::message::Object;
use entraclaw_mcp::{Answer, Arguments, Refusal};
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan as _};

use super::failure::Failure;
use super::fit::{TEXT_BYTES_MAX, fits, fitting, piece};
use super::resources;
use super::results::{ExportedConversation, ExportedMembers, search_results};
use super::shared::{From, Shared};
use crate::context::{Author, ContextError, Entry, Format, Project, Range};
use crate::export::{Extent, export};
use crate::handoff::{BRIEF_BYTES, handoff};
use crate::resume::resume;
use crate::search::Filter;
use crate::stores::{Agent, Library, Role, SessionError, Wanted, find};
use crate::text;

/// Most sessions that a search tells of.
const LIMIT_MAX: u64 = 50;
/// Without a range, at most so many of the last sessions are tried to fit.
const SESSIONS_TRIED_MAX: usize = 64;
/// Most bytes of a whole session in a context file, and of one in short.
const FULL_BYTES_MAX: usize = 64 * 1024;
const SUMMARY_BYTES_MAX: usize = 8 * 1024;
/// Shortest brief.
const BRIEF_BYTES_MIN: usize = 1024;
/// The newest session of the workspace.
const CURRENT: &str = "current";
/// The name of a writer whose host gives none.
const UNNAMED: &str = "unnamed";

/// What is done beside the connection.
pub(super) type Work = Box<dyn FnOnce(&Shared, &From) -> Result<Answer, Failure> + Send>;

/// Reads the arguments of a call.
pub(super) fn begin(tool: &str, arguments: Object) -> Result<Work, Refusal> {
    let given = Arguments::new(arguments);
    match tool {
        "append_context" => append(given),
        "init_context" => init(given),
        "export_conversation" => export_conversation(given),
        "search_conversations" => search(given),
        "get_resume_command" => resume_command(given),
        "handoff" => hand_over(given),
        "get_context_summary" => summary(given),
        "read_context_resource" => resource(given),
        _ => read(given),
    }
}

fn optional(given: &mut Arguments, name: &'static str) -> Result<Option<String>, Refusal> {
    Ok(Some(given.text(name, "")?).filter(|text| !text.trim().is_empty()))
}

fn offset(given: &mut Arguments) -> Result<Option<usize>, Refusal> {
    let offset = given.integer("offset", u64::MAX, 0, u64::MAX)?;
    Ok(if offset == u64::MAX { None } else { usize::try_from(offset).ok() })
}

fn read(mut given: Arguments) -> Result<Work, Refusal> {
    let workspace = optional(&mut given, "workspace")?;
    let format = match &*given.text("format", "markdown")? {
        "markdown" => Format::Markdown,
        "plain" => Format::Plain,
        other => {
            return Err(format!("format: expected markdown or plain, got {:?}", text::safe_line(other, 40)));
        }
    };
    let range = optional(&mut given, "range")?;
    let range: Option<Range> =
        range.map(|range| range.parse()).transpose().map_err(|problem| format!("range: {problem}"))?;
    let offset = offset(&mut given)?;
    given.finish()?;
    Ok(Box::new(move |shared, from| {
        let workspace = shared.workspace(workspace.as_deref(), from)?;
        let read = |range| -> Result<_, Failure> {
            let mut found = shared.contexts.read(&workspace, format, range)?;
            found.content = text::safe(&found.content);
            Ok(found)
        };
        let mut found = read(range.unwrap_or_default())?;
        if range.is_none() && offset.is_none() && !fits(&found.content) {
            let count = found.metadata.session_count;
            let newest = |last: usize| -> Result<String, Failure> {
                let newest = read(Range::LastSessions(last))?;
                let left_out = count - last;
                Ok(format!(
                    "[{left_out} older sessions are left out here: call read_context with offset 0, or with a range]\n\n{}",
                    newest.content
                ))
            };
            // The most that fit, found by halves: each look reads the file.
            let (mut fitting, mut beyond) = (None, count.min(SESSIONS_TRIED_MAX));
            let mut fewest = 1;
            while fewest < beyond {
                let middle = fewest.midpoint(beyond);
                let shown = newest(middle)?;
                if fits(&shown) {
                    (fitting, fewest) = (Some(shown), middle + 1);
                } else {
                    beyond = middle;
                }
            }
            if let Some(shown) = fitting {
                found.content = shown;
                return Ok(Answer::json(&found));
            }
        }
        found.content =
            piece(&found.content, offset.unwrap_or(0), "read_context").map_err(Failure::params)?;
        Ok(Answer::json(&found))
    }))
}

fn append(mut given: Arguments) -> Result<Work, Refusal> {
    let content = given.required_text("content", "what to note")?;
    let workspace = optional(&mut given, "workspace")?;
    let title = optional(&mut given, "title")?;
    given.finish()?;
    Ok(Box::new(move |shared, from| {
        let workspace = shared.workspace(workspace.as_deref(), from)?;
        let author = Author::Agent(from.client.as_deref().unwrap_or(UNNAMED));
        let entry = Entry { content: &content, title: title.as_deref(), author };
        Ok(Answer::json(&shared.contexts.append(&workspace, &entry)?))
    }))
}

fn init(mut given: Arguments) -> Result<Work, Refusal> {
    let workspace = optional(&mut given, "workspace")?;
    let name = given.text("projectName", "")?;
    let description = optional(&mut given, "projectDescription")?;
    given.finish()?;
    Ok(Box::new(move |shared, from| {
        let workspace = shared.workspace(workspace.as_deref(), from)?;
        let project = Project { name: &name, description: description.as_deref() };
        Ok(Answer::json(&shared.contexts.init(&workspace, &project)?))
    }))
}

fn summary(mut given: Arguments) -> Result<Work, Refusal> {
    let workspace = optional(&mut given, "workspace")?;
    given.finish()?;
    Ok(Box::new(move |shared, from| {
        let workspace = shared.workspace(workspace.as_deref(), from)?;
        let mut summary = shared.contexts.summary(&workspace)?;
        for recent in &mut summary.recent_sessions {
            recent.preview = text::safe_line(&recent.preview, usize::MAX);
        }
        Ok(Answer::json(&summary))
    }))
}

fn export_conversation(mut given: Arguments) -> Result<Work, Refusal> {
    let session =
        given.required_text("sessionId", "the id of a session, the path of its file, or current")?;
    let workspace = optional(&mut given, "workspace")?;
    let format = given.text("format", "summary")?;
    let extent = Extent::by_name(&format)
        .ok_or_else(|| format!("format: expected full or summary, got {:?}", text::safe_line(&format, 40)))?;
    given.finish()?;
    Ok(Box::new(move |shared, from| {
        let workspace = shared.workspace(workspace.as_deref(), from)?;
        let missing = |error: ContextError| match error {
            ContextError::FileNotFound(_) => Failure::new("CONTEXT_NOT_FOUND", error.to_string()),
            other => Failure::new("EXPORT_ERROR", other.to_string()),
        };
        // A missing file is told before a long session is read.
        shared.contexts.summary(&workspace).map_err(missing)?;
        let bytes_max = if extent == Extent::Full { FULL_BYTES_MAX } else { SUMMARY_BYTES_MAX };
        let own = from.agent.filter(|_| session.trim() == CURRENT);
        let wanted = Wanted { session: &session, agent: own, workspace: &workspace };
        let any = Wanted { agent: None, ..wanted };
        let exported = shared.with_library(|library| match export(library, &wanted, extent, bytes_max) {
            // A host may keep no session yet of what it is doing now.
            Err(SessionError::NotFound { .. }) if own.is_some() => export(library, &any, extent, bytes_max),
            exported => exported,
        })?;
        let author = Author::Agent(from.client.as_deref().unwrap_or(UNNAMED));
        let entry = Entry { content: &exported.markdown, title: Some(&exported.title), author };
        let added = shared.contexts.append(&workspace, &entry).map_err(missing)?;
        Ok(Answer::json(&ExportedConversation {
            success: true,
            exported: ExportedMembers {
                title: exported.title,
                message_count: exported.message_count,
                timestamp: added.timestamp,
            },
        }))
    }))
}

/// The session of a call, or the newest one of the workspace.
struct Meant {
    session: String,
    workspace: Option<String>,
    agent: Option<String>,
}

impl Meant {
    fn read(mut given: Arguments) -> Result<Self, Refusal> {
        let session = given.text("sessionId", CURRENT)?;
        let session = if session.trim().is_empty() { CURRENT.to_owned() } else { session };
        let (workspace, agent) = (optional(&mut given, "workspace")?, optional(&mut given, "agent")?);
        given.finish()?;
        Ok(Self { session, workspace, agent })
    }

    fn with<T>(
        &self,
        shared: &Shared,
        from: &From,
        work: impl FnOnce(&mut Library, &Wanted<'_>) -> Result<T, SessionError>,
    ) -> Result<T, Failure> {
        let agent = self.agent.as_deref().map(agent_named).transpose().map_err(Failure::params)?;
        let workspace = shared.workspace(self.workspace.as_deref(), from)?;
        let wanted = Wanted { session: &self.session, agent, workspace: &workspace };
        Ok(shared.with_library(|library| work(library, &wanted))?)
    }
}

fn resume_command(given: Arguments) -> Result<Work, Refusal> {
    let meant = Meant::read(given)?;
    Ok(Box::new(move |shared, from| {
        let processes = &*shared.parts.processes;
        let found = meant.with(shared, from, |library, wanted| resume(library, processes, wanted))?;
        Ok(Answer::json(&found))
    }))
}

fn hand_over(given: Arguments) -> Result<Work, Refusal> {
    let meant = Meant::read(given)?;
    Ok(Box::new(move |shared, from| {
        let processes = &*shared.parts.processes;
        let mut bytes_max = BRIEF_BYTES;
        loop {
            let brief =
                meant.with(shared, from, |library, wanted| handoff(library, processes, wanted, bytes_max))?;
            let text = serde_json::to_string(&brief)
                .map_err(|error| Failure::new("READ_ERROR", error.to_string()))?;
            // Quotes and line ends take more room in JSON.
            if text.len() <= TEXT_BYTES_MAX || bytes_max <= BRIEF_BYTES_MIN {
                return Ok(Answer::json(&brief));
            }
            bytes_max = (bytes_max * 3 / 4).max(BRIEF_BYTES_MIN);
        }
    }))
}

fn search(mut given: Arguments) -> Result<Work, Refusal> {
    let query = given.text("query", "")?;
    let limit = given.integer("limit", 10, 1, LIMIT_MAX)?;
    let (date_from, date_to) = (optional(&mut given, "dateFrom")?, optional(&mut given, "dateTo")?);
    let agent = optional(&mut given, "agent")?;
    let folder = optional(&mut given, "workspace")?;
    let (role, tool) = (optional(&mut given, "role")?, optional(&mut given, "tool")?);
    let role = match role.as_deref() {
        None => None,
        Some("user") => Some(Role::User),
        Some("assistant") => Some(Role::Assistant),
        Some(other) => {
            return Err(format!("role: expected user or assistant, got {:?}", text::safe_line(other, 40)));
        }
    };
    let has_details = given.boolean("details", false)?;
    given.finish()?;
    Ok(Box::new(move |shared, _| {
        if !query.chars().any(char::is_alphanumeric) {
            let says = "query: there is no word in it; give one or more words that were said";
            return Err(Failure::new("INVALID_QUERY", says));
        }
        let agent = agent.map(|name| agent_named(&name)).transpose();
        let agent = agent.map_err(|says| Failure::new("INVALID_QUERY", says))?;
        let day = |name: &str, text: Option<String>| text.map(|text| day(name, &text)).transpose();
        let (since, until) = (day("dateFrom", date_from)?, day("dateTo", date_to)?);
        // The last day counts whole.
        let until = until.and_then(|day| day.checked_add(1.day()).ok());
        let begin = |day: Date| -> Option<Timestamp> {
            Some(day.to_zoned(shared.parts.zone.clone()).ok()?.timestamp())
        };
        let (since, until) = (since.and_then(begin), until.and_then(begin));
        let filter = Filter { agent, role, folder, since, until, tool };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let answer = shared.with_memory(|memory| Ok(memory.search(&query, &filter, limit)?))?;
        if answer.sessions.is_empty() {
            let (found, troubles) = find(&*shared.parts.files, &shared.parts.homes);
            match troubles.first() {
                Some((path, why)) if found.is_empty() => {
                    let says = format!("{} can't be read: {why}; try again", path.display());
                    return Err(Failure::new("READ_ERROR", text::safe_line(&says, 1_024)));
                }
                None if found.is_empty() => {
                    let says = "no agent on this machine has kept a session here; `entraclaw doctor` tells where they are \
                                looked for";
                    return Err(Failure::new("NO_SESSIONS", says));
                }
                _ => {}
            }
        }
        let mut results = search_results(shared, answer, has_details);
        results.results = fitting(results.results, TEXT_BYTES_MAX);
        Ok(Answer::json(&results))
    }))
}

fn agent_named(name: &str) -> Result<Agent, String> {
    Agent::by_name(name).ok_or_else(|| {
        let names = Agent::ALL.map(Agent::as_str).join(", ");
        format!("agent: {:?} is none of {names}", text::safe_line(name, 40))
    })
}

fn day(name: &str, text: &str) -> Result<Date, Failure> {
    text.trim().parse().map_err(|_| {
        let shown = text::safe_line(text, 40);
        Failure::new("INVALID_QUERY", format!("{name}: {shown:?} is no date; write it like 2026-02-04"))
    })
}

fn resource(mut given: Arguments) -> Result<Work, Refusal> {
    let uri = given.required_text("uri", "the address of a resource, such as context://current")?;
    let offset = offset(&mut given)?;
    given.finish()?;
    let wanted = resources::Wanted::parse(uri.trim())
        .ok_or("uri: there is no such resource here; see this tool's description")?;
    Ok(Box::new(move |shared, from| {
        let content = wanted?.read(shared, from)?;
        let shown = piece(&content.text, offset.unwrap_or(0), "read_context_resource");
        Ok(Answer::text(&shown.map_err(Failure::params)?))
    }))
}
