//! What there is of the local model in the project that a command runs in: whether an engine works, and which model server is
//! there.
//! It must never start an engine, nor ask a model.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use entraclaw_inbox::tool::ToolSet;
use entraclaw_models::{Choice, Late, Model as _, Place as Server, ReqwestTransport, discover};
use tokio::time::timeout;

use super::place::Place;
use super::project::{FOLDER, Given, Project};
use super::setup::is_set_up;
use crate::doctor::DelegateFacts;

/// The longest wait for a model server.
const ASK_MAX: Duration = Duration::from_secs(5);

/// The project, if a session of this configuration, a host that was set up, or the project itself uses a local model.
fn project(place: &Place) -> Option<Result<Project, String>> {
    let home = PathBuf::from(place.home_text());
    let found = Given::default().find(&home, &place.config.delegate.external);
    let is_used = place.config.tools.contains(&ToolSet::Delegate)
        || place.disk.as_ref().is_some_and(|disk| is_set_up(disk, ToolSet::Delegate))
        || found.as_ref().is_ok_and(|project| project.store.is_dir());
    is_used.then_some(found)
}

/// Whether an engine works in the project: it holds the lock of its store. Trying the lock of a store that is not there would make it.
fn works(place: &Place, project: &Project) -> bool {
    let Some(key) = project.store.file_name().map(|name| name.to_string_lossy().into_owned()) else {
        return false;
    };
    let lock = format!("{FOLDER}/{key}/engine.lock");
    let storage = place.storage();
    matches!(storage.len(&lock), Ok(Some(_))) && matches!(storage.try_lock(&lock), Ok(None))
}

/// What the doctor is told of it.
pub(super) async fn facts(place: &Place) -> Option<DelegateFacts> {
    let found = project(place)?;
    let engine = match &found {
        Ok(project) => Ok(works(place, project).then(|| project.address.path.display().to_string())),
        Err(why) => Err(why.clone()),
    };
    let project =
        found.map_or_else(|_| "this folder".to_owned(), |project| project.root.display().to_string());
    Some(DelegateFacts { project, engine, model: model(&place.config.delegate.server).await })
}

async fn model(choice: &Choice) -> Result<String, String> {
    let transport = Arc::new(ReqwestTransport::new());
    match choice {
        Choice::Found(_) => {
            let places = discover(transport).await;
            let found = places.iter().find(|place| place.config().is_some()).map(Server::sentence);
            found.ok_or_else(|| {
                let looked: Vec<String> = places.iter().map(Server::sentence).collect();
                format!("no model server was found on this machine: {}", looked.join("; "))
            })
        }
        Choice::Named(server) => {
            let url = server.base_url.clone();
            match timeout(ASK_MAX, Late::new(choice.clone(), transport).facts()).await {
                Ok(Ok(facts)) => Ok(format!("the model server is at {url}: {}", facts.model)),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(format!("the model server at {url} did not answer in {} s", ASK_MAX.as_secs())),
            }
        }
    }
}

/// What the status says of it, in a sentence.
pub(super) fn note(place: &Place) -> Option<String> {
    Some(match project(place)? {
        Ok(project) if works(place, &project) => {
            format!("the engine of the local model works in {}", project.root.display())
        }
        Ok(project) => {
            let root = project.root.display();
            format!("no engine of a local model works in {root}; start it there by `entraclaw delegate`")
        }
        Err(why) => why,
    })
}
