//! The loop of one connection: it reads lines, lets providers work, and writes lines.
//! It must never wait for one of these while another could happen.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::{BoxFuture, select_all};
use rmcp::model::{Prompt, Resource, ResourceTemplate};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use crate::connection::{Connection, Options};
use crate::framing::Framer;
use crate::paused::forgotten_at;
use crate::provider::{Offer, Provider, Step};
use crate::user::Form;

/// How long finished answers may take to be sent after the host closed our input, in milliseconds.
const DRAIN_MS_MAX: u64 = 50;

/// Bytes asked for in one read.
const READ_BYTES: usize = 16 * 1024;

/// Most steps of progress that wait to be written; more are left out.
const STEPS_MAX: usize = 64;

/// Most forms that wait to be sent; the calls that ask wait too.
const FORMS_MAX: usize = 8;

/// Why a connection ended. None of these is an error, as hosts end in any way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The host closed our input.
    InputClosed,
    /// Our input could not be read.
    InputFailed,
    /// The host closed our output.
    OutputClosed,
    /// The host read nothing for too long, with both directions full.
    OutputStalled,
}

/// A tool and the provider that offers it.
pub(crate) struct Offered {
    pub(crate) provider: usize,
    pub(crate) offer: Offer,
}

/// A connection and its providers.
pub(crate) struct Session {
    pub(crate) connection: Connection,
    pub(crate) providers: Vec<Box<dyn Provider>>,
    /// The offered tools by name. All offers are asked for once.
    pub(crate) tools: BTreeMap<String, Offered>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<ResourceTemplate>,
    /// The prompts, each with the provider that offers it.
    pub(crate) prompts: Vec<(usize, Prompt)>,
    pub(crate) steps: mpsc::Sender<Step>,
    pub(crate) forms: mpsc::Sender<Form>,
}

impl Session {
    fn new(
        options: Options,
        providers: Vec<Box<dyn Provider>>,
        steps: mpsc::Sender<Step>,
        forms: mpsc::Sender<Form>,
    ) -> Self {
        let mut session = Self {
            connection: Connection::new(options),
            providers,
            tools: BTreeMap::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            prompts: Vec::new(),
            steps,
            forms,
        };
        for (provider, offers) in session.providers.iter().map(|provider| provider.offers()).enumerate() {
            for offer in offers.tools {
                if !session.connection.options.left_out_sets.contains(offer.set) {
                    session.tools.insert(offer.tool.name.to_string(), Offered { provider, offer });
                }
            }
            session.resources.extend(offers.resources);
            session.templates.extend(offers.templates);
            session.prompts.extend(offers.prompts.into_iter().map(|prompt| (provider, prompt)));
        }
        session
    }

    /// Lets every provider send what is due, in their order.
    fn pump(&mut self) {
        for provider in &mut self.providers {
            if !self.connection.has_room() {
                return;
            }
            provider.pump(&mut self.connection);
        }
    }

    /// Asks the client for its folders, if it declared that and a provider wants them.
    pub(crate) fn ask_roots(&mut self) {
        let Some(opened) = self.connection.ready() else { return };
        let declares = opened.capabilities.get("roots").is_some_and(Value::is_object);
        if !declares || !self.providers.iter().any(|provider| provider.wants_roots()) {
            return;
        }
        if let Some(request) = self.connection.asking.ask_roots() {
            self.connection.out.push(&request, None, Vec::new());
        }
    }

    fn ask_user(&mut self, form: Form) {
        if let Some(number) = form.call {
            self.pause(number, form);
        } else if let Some(request) = self.connection.asking.ask_user(form) {
            self.connection.out.push(&request, None, Vec::new());
        }
    }

    /// Gives up what the client has not answered, and takes back the forms that no call waits for.
    fn give_up(&mut self) {
        for id in self.connection.asking.give_up() {
            self.connection.notify("notifications/cancelled", &json!({"requestId": id}));
        }
        self.forget_paused();
    }

    fn deadline(&self) -> Option<Instant> {
        let due = self.providers.iter().filter_map(|provider| provider.deadline(&self.connection));
        let forgotten = forgotten_at(&self.connection.paused);
        due.chain(self.connection.asking.deadline()).chain(forgotten).min()
    }
}

/// Waits until any provider must be pumped again.
fn changed(providers: &mut [Box<dyn Provider>], has_room: bool) -> BoxFuture<'_, ()> {
    let changes: Vec<_> = providers.iter_mut().map(|provider| provider.changed(has_room)).collect();
    if changes.is_empty() {
        return Box::pin(std::future::pending());
    }
    Box::pin(async move {
        select_all(changes).await;
    })
}

/// Serves one host until its pipes end.
pub async fn serve(
    options: Options,
    providers: Vec<Box<dyn Provider>>,
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
) -> Exit {
    let line_bytes_max = options.limits.line_bytes_max;
    let mut framer = Framer::new(line_bytes_max);
    let (steps, mut stepped) = mpsc::channel(STEPS_MAX);
    let (forms, mut filled) = mpsc::channel(FORMS_MAX);
    let mut session = Session::new(options, providers, steps, forms);
    let mut chunk = vec![0; READ_BYTES];
    let mut progress = (0, Instant::now());
    loop {
        let mut lines = 0;
        while session.connection.has_room()
            && let Some(frame) = framer.next_frame()
        {
            session.on_frame(frame);
            lines += 1;
        }
        session.give_up();
        session.pump();
        for provider in &mut session.providers {
            provider.round(lines, &session.connection);
        }
        // While the host reads nothing, this reads on up to this bound, to see when the host ends.
        let may_read = framer.buffered_bytes() < 2 * line_bytes_max;
        let written = session.connection.out.written_bytes_total();
        if may_read || written != progress.0 {
            progress = (written, Instant::now());
        }
        let has_room = session.connection.has_room();
        let stalls_at = (!may_read).then(|| progress.1 + session.connection.stall_limit());
        let deadline = session.deadline().filter(|_| has_room);
        let deadline = [deadline, stalls_at].into_iter().flatten().min();
        let connection = &mut session.connection;
        tokio::select! {
            biased;
            written = connection.out.advance(&mut writer), if !connection.out.is_idle() => match written {
                Ok(receipts) => {
                    for receipt in receipts {
                        session.providers.iter_mut().for_each(|provider| provider.written(&receipt));
                    }
                }
                Err(error) => {
                    tracing::info!(%error, "the host closed our output");
                    return Exit::OutputClosed;
                }
            },
            read = reader.read(&mut chunk), if may_read => match read {
                Ok(0) => {
                    session.end_listens();
                    // A host that has exited reads nothing; one that only closed our input still gets the finished answers.
                    let drained = session.connection.out.advance(&mut writer);
                    let _ = timeout(Duration::from_millis(DRAIN_MS_MAX), drained).await;
                    return Exit::InputClosed;
                }
                Ok(count) => framer.push(&chunk[..count]),
                Err(error) => {
                    tracing::warn!(%error, "our input could not be read");
                    return Exit::InputFailed;
                }
            },
            Some(done) = connection.works.next(), if !connection.works.is_empty() => {
                // The last progress goes before the answer.
                while let Ok(step) = stepped.try_recv() {
                    session.on_step(&step);
                }
                session.on_worked(done);
            }
            Some(step) = stepped.recv(), if has_room => session.on_step(&step),
            Some(form) = filled.recv(), if has_room => session.ask_user(form),
            () = changed(&mut session.providers, has_room) => {}
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                let is_late = stalls_at.is_some_and(|at| at <= Instant::now());
                if is_late && session.connection.out.written_bytes_total() == progress.0 {
                    tracing::warn!("the host takes no output and both directions are full");
                    return Exit::OutputStalled;
                }
            }
        }
    }
}
