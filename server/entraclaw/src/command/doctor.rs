//! `entraclaw doctor`: gathers the facts that [`crate::doctor`] judges. It signs in, asks Graph a few questions, and
//! changes nothing.
//! It must never show a token, nor wait longer than [`ASK_MAX`] for an answer.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::environment::Environment;
use super::local_model;
use super::output;
use super::place::{Entry, Home, Place};
use super::serve;
use super::setup::{is_set_up, unattended};
use crate::doctor::{
    AgentFacts, Answered, AskFacts, CertificateFacts, ConfigFacts, Facts, GraphFacts, HomeFacts, Level,
    MemoryFacts, SignIn, examine, show,
};
use crate::wake_ups::{look_at_file, look_at_socket};
use entraclaw_agents::AGENTS;
use entraclaw_inbox::gate::operator;
use entraclaw_inbox::tool::ToolSet;
use entraclaw_inbox::wake_up::{HostWakeUp, MeetingPlace, WakeUpState};
use entraclaw_memory::files::DiskFiles;
use entraclaw_memory::meanings::Meanings;
use entraclaw_memory::stores::{Depth, Library};
use entraclaw_microsoft::bot::Credentials;
use entraclaw_microsoft::entra::Auth;
use entraclaw_microsoft::entra::keys::Kept;
use entraclaw_microsoft::entra::{Validity, claims};
use entraclaw_microsoft::graph::{GraphError, Scope};
use entraclaw_seams::clock::{Clock as _, SystemClock};
use entraclaw_session::app::App;
use entraclaw_session::status::{MemorySummary, gather};

/// The longest wait for one answer of Graph.
const ASK_MAX: Duration = Duration::from_secs(10);

/// How much of each agent's store is read.
const STORES: Depth = Depth { files_max: 20, bytes_max: 64 * 1024 * 1024 };

const EXAMPLE: &str = "\
Example: ENTRACLAW_AUTH=static ENTRACLAW_ACCESS_TOKEN=\"$TOKEN\" entraclaw doctor
Exit codes: 0 nothing to repair, 1 something to repair, 2 wrong usage.";

/// Flags of `doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Flags {
    #[command(flatten)]
    home: Home,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(flags: Flags) -> ExitCode {
    let environment = Environment::read();
    let place = Place::find(Entry::Look, flags.home, Vec::new(), &environment);
    output::end(output::block_on(facts(&place, &environment)).map_err(Into::into).map(|facts| {
        let diagnosis = examine(&facts);
        let code = if diagnosis.level == Level::Fail { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        if flags.json { output::json(&diagnosis, code) } else { output::text(&show::human(&diagnosis), code) }
    }))
}

async fn facts(place: &Place, environment: &Environment) -> Facts {
    let now = SystemClock.now();
    let mut config = place.config.clone();
    config.graph.request_timeout = config.graph.request_timeout.min(ASK_MAX);
    let app = serve::production(config, place.storage(), place.home.clone().unwrap_or_default(), environment);
    let config = &app.config;
    let (sign_in, graph) = if place.config_trouble.is_empty() { ask(&app).await } else { Default::default() };
    let gate = app.gate();
    gate.refresh();
    let mut report = gather(&place.storage(), &place.home_text(), now, config.retention.consumer_idle_days);
    let memory = memory(place, environment).map(|(summary, facts)| {
        report.memory = Some(summary);
        facts
    });
    Facts {
        now,
        home: home(place),
        config: ConfigFacts {
            has_file: place.config_text.is_some(),
            mistakes: place.config_trouble.clone(),
            allowed_people: gate.people().len(),
            sponsors: config.gate.sponsors,
            pairing: config.gate.pairing,
            policy_trouble: operator::read(&*app.storage).err(),
            policy_kept_aside: operator::kept_aside(&*app.storage),
            teams: config.teams.enabled,
            mail: config.mail.enabled,
            bot: config.bot.enabled,
            bot_trouble: Credentials::of(&config.bot).err().filter(|_| config.bot.enabled),
            auth: config.auth.mode(),
            tenant_id: config.identity.tenant_id.as_ref().map(ToString::to_string),
            object_id: config.identity.object_id.as_ref().map(ToString::to_string),
            graph_authority: config.graph.origin.authority(),
            graph_is_local: config.graph.origin.is_loopback(),
        },
        sign_in,
        certificate: if place.config_trouble.is_empty() { certificate(&app).await } else { None },
        graph,
        wake_ups: wake_ups(&app).await,
        ask: agents(&app, place),
        delegate: local_model::facts(place).await,
        unattended: place.disk.iter().flat_map(|disk| unattended(disk, &config.wake_ups)).collect(),
        memory,
        report,
    }
}

/// Looks at the newest sessions of all agents, if sessions were indexed.
fn memory(place: &Place, environment: &Environment) -> Option<(MemorySummary, MemoryFacts)> {
    let library = Library::new(Arc::new(DiskFiles), environment.context("").homes);
    let (summary, stores) = MemorySummary::of(&*place.storage(), &library, STORES)?;
    let folder = place.config.context.meanings.as_deref();
    let meanings = folder.and_then(|folder| Meanings::read(&DiskFiles, folder).err());
    let meanings = meanings.map(|error| error.to_string());
    Some((summary, MemoryFacts { files_max: STORES.files_max, stores, meanings }))
}

/// Looks for the agents that can be asked, if a session of this configuration or a host that was set up offers that.
fn agents(app: &App, place: &Place) -> Option<AskFacts> {
    let is_chosen = app.config.tools.contains(&ToolSet::Ask)
        || place.disk.as_ref().is_some_and(|disk| is_set_up(disk, ToolSet::Ask));
    is_chosen.then(|| AskFacts {
        permissions: app.config.ask.settings.permissions.as_str(),
        agents: AGENTS.iter().map(|agent| AgentFacts { agent, found: app.finder.find(agent) }).collect(),
    })
}

/// Checks the wake-ups that are on, and uses none.
async fn wake_ups(app: &App) -> Vec<(&'static str, Answered)> {
    let mut found = Vec::new();
    for wake_up in HostWakeUp::all(&app.config.wake_ups, app.inbox_socket.as_ref(), false) {
        let looked = match (wake_up.trial(), &wake_up) {
            (Some(trial), _) => app.wake_ups.wake(trial).await.map(|_| ()),
            (None, HostWakeUp::QwenFile { path }) => look_at_file(path),
            (None, HostWakeUp::InboxSocket(inbox)) => look_at_socket(&inbox.path),
            (None, _) => Ok(()),
        };
        let answered = match looked {
            Ok(()) => Answered::Yes("it is there".to_owned()),
            Err(error) => {
                let text = error.to_string();
                let (error, fix) = text.split_once("; ").unwrap_or((&text, "see whether its host runs"));
                Answered::No { error: error.to_owned(), fix: fix.to_owned() }
            }
        };
        found.push((wake_up.name(WakeUpState::Ready), answered));
    }
    if app.config.wake_ups.waking_hook {
        let waiting = MeetingPlace::armed_everywhere(&*app.storage);
        let told = match waiting {
            0 => None,
            1 => Some("a hook waits beside 1 session".to_owned()),
            _ => Some(format!("a hook waits beside {waiting} sessions each")),
        };
        found.extend(told.map(|told| ("waking hook", Answered::Yes(told))));
    }
    found
}

fn home(place: &Place) -> HomeFacts {
    let health = place.disk.as_ref().map(entraclaw_seams::storage::DiskStorage::health).unwrap_or_default();
    HomeFacts {
        path: place.home_text(),
        trouble: place.home_trouble.clone().or_else(|| place.unmakeable()),
        exists: place.disk.is_some(),
        read_only: health.read_only,
        folders: place.folder_troubles(),
        open_to_others: health.open_to_others,
        free_bytes: health.free_bytes,
    }
}

/// The dates of an agent user's certificate. The check of the sign-in reports a store that can't be read.
async fn certificate(app: &App) -> Option<CertificateFacts> {
    let Auth::AgentUser(who) = &app.config.auth else { return None };
    let certificate = app.keys.get(&who.key_name(Kept::Certificate)).await.ok()??;
    let place = match &who.certificate_file {
        Some(path) => path.display().to_string(),
        None => app.keys.name(),
    };
    Some(CertificateFacts { place, validity: Validity::read(&certificate) })
}

async fn ask(app: &App) -> (SignIn, Option<GraphFacts>) {
    let config = &app.config;
    if config.auth == Auth::None {
        return (SignIn::None, None);
    }
    let tokens = app.tokens_after(0);
    let token = match tokens.token().await {
        Ok(token) => token,
        Err(error) => {
            // This command does not try again by itself.
            let network = "check the network, and `auth.login_url` if you set it".to_owned();
            let fix = if error.is_transient() { network } else { error.fix };
            return (SignIn::Failed { problem: error.problem, fix }, None);
        }
    };
    let client = app.graph(tokens);
    let ask = async |path: &[&str], query: &[(&str, &str)], scope| {
        client.get_once(&client.url(path, query), scope).await
    };
    let me = ask(&["me"], &[], Scope::Common).await;
    let me =
        answered(me.map(|me| me.get("id").and_then(Value::as_str).unwrap_or("an unnamed user").to_owned()));
    let (mut chats, mut mail) = (None, None);
    let is_known = matches!(me, Answered::Yes(_));
    if config.teams.enabled && is_known {
        let list = ask(&["me", "chats"], &[("$top", "1")], Scope::Common).await;
        chats = Some(answered(list.map(
            |list| match list.get("value").and_then(Value::as_array).map(Vec::len) {
                Some(0) => "the list can be read; the agent is in no chat yet".to_owned(),
                _ => "the list can be read".to_owned(),
            },
        )));
    }
    if config.mail.enabled && is_known {
        let query = [("$top", "1"), ("$select", "id")];
        let list = ask(&["me", "mailFolders", "inbox", "messages"], &query, Scope::Mailbox).await;
        mail = Some(answered(list.map(|_| "the inbox can be read".to_owned())));
    }
    (SignIn::Token(claims(&token)), Some(GraphFacts { me, chats, mail, skew: client.clock_skew() }))
}

fn answered(answer: Result<String, GraphError>) -> Answered {
    match answer {
        Ok(found) => Answered::Yes(found),
        Err(error) => Answered::No { fix: error.advice().to_owned(), error: error.to_string() },
    }
}
