//! `entraclaw doctor`: gathers what [`crate::doctor`] judges, asks Graph two questions, and changes nothing.
//! It must never show a token, nor wait longer than [`ASK_MAX`] for an answer.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::DoctorFlags;
use super::environment::Environment;
use super::output;
use super::place::{Entry, Place};
use crate::app;
use crate::clock::{Clock as _, SystemClock};
use crate::config::Auth;
use crate::doctor::{
    Answered, ConfigFacts, Facts, GraphFacts, HomeFacts, Level, SignIn, TokenFacts, examine, show,
};
use crate::entra;
use crate::graph::{CHAT_SPACING, GraphClient, GraphError, GraphParts, HttpTransport, Scope};
use crate::random::SplitMix;
use crate::status::gather;

/// The longest wait for one answer of Graph.
const ASK_MAX: Duration = Duration::from_secs(10);

pub(super) fn run(flags: DoctorFlags) -> ExitCode {
    let place = Place::find(Entry::Look, flags.home, Vec::new(), &Environment::read());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            return output::complain(
                &format!("the runtime could not be started: {error}"),
                ExitCode::FAILURE,
            );
        }
    };
    let facts = runtime.block_on(facts(&place));
    runtime.shutdown_background();
    let diagnosis = examine(&facts);
    let code = if diagnosis.level == Level::Fail { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    if flags.json { output::json(&diagnosis, code) } else { output::text(&show::human(&diagnosis), code) }
}

async fn facts(place: &Place) -> Facts {
    let now = SystemClock.now();
    let (sign_in, graph) =
        if place.config_trouble.is_empty() { ask(place).await } else { Default::default() };
    let config = &place.config;
    Facts {
        now,
        home: home(place),
        config: ConfigFacts {
            has_file: place.config_text.is_some(),
            mistakes: place.config_trouble.clone(),
            allowed_people: config.allow.len(),
            teams: config.teams.enabled,
            tenant_id: config.identity.tenant_id.as_ref().map(ToString::to_string),
            object_id: config.identity.object_id.as_ref().map(ToString::to_string),
            graph_authority: config.graph.origin.authority(),
            graph_is_local: config.graph.origin.is_loopback(),
        },
        sign_in,
        graph,
        report: gather(&place.storage(), &place.home_text(), now, config.retention.consumer_idle_days),
    }
}

fn home(place: &Place) -> HomeFacts {
    let health = place.disk.as_ref().map(crate::storage::DiskStorage::health).unwrap_or_default();
    HomeFacts {
        path: place.home_text(),
        trouble: place.home_trouble.clone(),
        exists: place.disk.is_some(),
        read_only: health.read_only,
        open_to_others: health.open_to_others,
        free_bytes: health.free_bytes,
    }
}

async fn ask(place: &Place) -> (SignIn, Option<GraphFacts>) {
    let config = &place.config;
    if config.auth == Auth::None {
        return (SignIn::None, None);
    }
    let tokens = app::tokens(&config.auth);
    let token = match tokens.token().await {
        Ok(token) => token,
        Err(error) => return (SignIn::Failed { problem: error.problem, fix: error.fix }, None),
    };
    let told = entra::token_use(&token);
    let facts = TokenFacts {
        tenant_id: entra::claims(&token).tenant_id.map(|id| id.to_string()),
        audience: told.audience,
        expires_at: told.expires_at,
        scopes: told.scopes,
        is_application: told.is_application,
    };
    let client = GraphClient::new(GraphParts {
        transport: Arc::new(HttpTransport::new(config.graph.origin.is_loopback())),
        tokens,
        clock: Arc::new(SystemClock),
        random: Arc::new(SplitMix::from_os()),
        origin: config.graph.origin.clone(),
        request_timeout: config.graph.request_timeout.min(ASK_MAX),
        chat_spacing: CHAT_SPACING,
    });
    let me = client.get_once(&client.url(&["me"], &[]), Scope::Common).await;
    let me = answered(me.map(|a| a.body.get("id").and_then(Value::as_str).unwrap_or("somebody").to_owned()));
    let chats = if config.teams.enabled && matches!(me, Answered::Yes(_)) {
        let url = client.url(&["me", "chats"], &[("$top", "1")]);
        let list = client.get_once(&url, Scope::Common).await;
        Some(answered(list.map(|a| match a.body.get("value").and_then(Value::as_array).map(Vec::len) {
            Some(0) => "the list can be read; the agent is in no chat yet".to_owned(),
            _ => "the list can be read".to_owned(),
        })))
    } else {
        None
    };
    (SignIn::Token(facts), Some(GraphFacts { me, chats, skew: client.clock_skew() }))
}

fn answered(answer: Result<String, GraphError>) -> Answered {
    match answer {
        Ok(found) => Answered::Yes(found),
        Err(error) => Answered::No { fix: error.advice().to_owned(), error: error.to_string() },
    }
}
