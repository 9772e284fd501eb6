//! People and applications, and their JSON in messages and member lists.
//! An id must depend on the handle alone: a scenario's allowlist is written before the world exists.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::draw;
use super::rules::RuleId;
use super::script_error::ScriptError;
use super::spec::{AGENT, ApplicationSpec, HOME_TENANT, IdentityType, PersonSpec};
use super::trace::Trace;

/// One person, with the ids that Graph knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The scenario's name for the person.
    pub handle: String,
    /// The object id in the home tenant.
    pub object_id: String,
    /// The id of the home tenant.
    pub tenant_id: String,
    /// The displayed name, if any.
    pub display_name: Option<String>,
    /// The address in member lists, if it is shown.
    pub mail: Option<String>,
    /// The kind of account.
    pub identity: IdentityType,
    /// Whether the home tenant is not the agent's.
    pub foreign: bool,
    pub(super) tenant_in_messages: bool,
}

/// One bot or webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    /// The scenario's name for the application.
    pub handle: String,
    /// The id of the application.
    pub id: String,
    /// The displayed name.
    pub display_name: String,
}

/// The object id of the person with this handle; it is the same in every world.
pub fn object_id(handle: &str) -> String {
    draw::guid(0, &format!("person/{handle}"))
}

/// The id of the tenant with this handle; it is the same in every world.
pub fn tenant_id(handle: &str) -> String {
    draw::guid(0, &format!("tenant/{handle}"))
}

/// The id of the application with this handle; it is the same in every world.
pub fn application_id(handle: &str) -> String {
    draw::guid(0, &format!("application/{handle}"))
}

#[derive(Debug, Clone, Default)]
pub(super) struct Directory {
    home_tenant_id: String,
    pub(super) people: BTreeMap<String, Person>,
    pub(super) applications: BTreeMap<String, Application>,
}

/// The person or application with a handle.
#[derive(Debug, Clone, Copy)]
pub(super) enum Who<'a> {
    Person(&'a Person),
    Application(&'a Application),
}

impl Who<'_> {
    pub(super) fn id(&self) -> &str {
        match self {
            Who::Person(person) => &person.object_id,
            Who::Application(application) => &application.id,
        }
    }

    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Who::Person(person) => person.display_name.as_deref(),
            Who::Application(application) => Some(&application.display_name),
        }
    }
}

impl Directory {
    pub(super) fn new(agent: &PersonSpec) -> Self {
        let home_tenant_id = tenant_id(agent.tenant.as_deref().unwrap_or(HOME_TENANT));
        let mut directory = Self { home_tenant_id, ..Self::default() };
        directory.add_person(AGENT, agent);
        directory
    }

    pub(super) fn add_person(&mut self, handle: &str, spec: &PersonSpec) {
        let home = spec.tenant.as_deref();
        let tenant_id = home.map_or_else(|| self.home_tenant_id.clone(), tenant_id);
        let foreign = tenant_id != self.home_tenant_id;
        let host = format!("{}.com", home.unwrap_or(HOME_TENANT));
        let mail = spec.mail.clone().or_else(|| (!foreign).then(|| format!("{handle}@{host}")));
        let display_name = spec.display_name.clone().unwrap_or_else(|| capital(handle));
        let person = Person {
            handle: handle.to_owned(),
            object_id: object_id(handle),
            tenant_id,
            display_name: (!spec.nameless).then_some(display_name),
            mail,
            identity: spec.identity,
            foreign,
            tenant_in_messages: spec.tenant_in_messages.unwrap_or(true),
        };
        self.people.insert(handle.to_owned(), person);
    }

    pub(super) fn add_application(&mut self, handle: &str, spec: &ApplicationSpec) {
        let display_name = spec.display_name.clone().unwrap_or_else(|| capital(handle));
        let application = Application { handle: handle.to_owned(), id: application_id(handle), display_name };
        self.applications.insert(handle.to_owned(), application);
    }

    pub(super) fn find(&self, handle: &str) -> Result<Who<'_>, ScriptError> {
        if let Some(person) = self.people.get(handle) {
            return Ok(Who::Person(person));
        }
        if let Some(application) = self.applications.get(handle) {
            return Ok(Who::Application(application));
        }
        let known: Vec<&str> =
            self.people.keys().chain(self.applications.keys()).map(String::as_str).collect();
        Err(ScriptError::UnknownPerson { name: handle.to_owned(), known: known.join(", ") })
    }

    pub(super) fn agent(&self) -> &Person {
        &self.people[AGENT]
    }

    pub(super) fn home_tenant_id(&self) -> &str {
        &self.home_tenant_id
    }

    /// The `from` of a message.
    pub(super) fn sender_json(&self, handle: Option<&str>, trace: &mut Trace) -> Value {
        let Some(who) = handle.and_then(|handle| self.find(handle).ok()) else { return Value::Null };
        match who {
            Who::Person(person) => {
                trace.note(RuleId::FromUser);
                if person.display_name.is_none() {
                    trace.note(RuleId::FromNullName);
                }
                if person.foreign {
                    trace.note(RuleId::FromHomeId);
                }
                json!({"application": null, "device": null, "user": user_json(person)})
            }
            Who::Application(application) => {
                trace.note(RuleId::FromApplication);
                json!({"device": null, "user": null, "application": {
                    "@odata.type": "#microsoft.graph.teamworkApplicationIdentity",
                    "id": application.id,
                    "displayName": application.display_name,
                    "applicationIdentityType": "bot",
                }})
            }
        }
    }

    /// The JSON of a member of a chat.
    pub(super) fn member_json(&self, handle: &str, membership_id: &str, trace: &mut Trace) -> Option<Value> {
        let person = self.people.get(handle)?;
        if person.foreign && person.mail.is_none() {
            trace.note(RuleId::FederatedMail);
        }
        let kind = match person.identity {
            IdentityType::AnonymousGuest => "#microsoft.graph.anonymousGuestConversationMember",
            _ => "#microsoft.graph.aadUserConversationMember",
        };
        Some(json!({
            "@odata.type": kind,
            "id": membership_id,
            "roles": ["owner"],
            "displayName": person.display_name,
            "visibleHistoryStartDateTime": "0001-01-01T00:00:00Z",
            "userId": person.object_id,
            "email": person.mail,
            "tenantId": person.tenant_id,
        }))
    }
}

/// A person as `teamworkUserIdentity`.
pub(super) fn user_json(person: &Person) -> Value {
    let mut user = json!({
        "@odata.type": "#microsoft.graph.teamworkUserIdentity",
        "id": person.object_id,
        "displayName": person.display_name,
        "userIdentityType": person.identity,
    });
    if person.tenant_in_messages {
        user["tenantId"] = json!(person.tenant_id);
    }
    user
}

fn capital(handle: &str) -> String {
    let mut letters = handle.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
