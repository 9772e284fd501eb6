//! The bot's channel in a cell: activities on their way to the server, and what came of them.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use entraclaw_microsoft::bot::{BotReply, BotRequest, Endpoint, Reception};
use fake_microsoft::bot::{BotDelivery, BotPerson, BotSaying, FakeBot};
use futures_util::StreamExt as _;
use futures_util::future::{LocalBoxFuture, join_all};
use futures_util::stream::FuturesUnordered;
use scenario::{BotAgain, BotExpect, BotSay, BotStep};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};

use super::miss::Miss;
use super::play::Play;
use crate::oracle::{Heard, Written};

/// The path to which activities are posted, on either stage.
const PATH: &str = "/api/messages";
/// The time that a sender waits for a listener.
const LISTEN_MAX: Duration = Duration::from_secs(10);
const LISTEN_PAUSE: Duration = Duration::from_millis(50);
/// The time that a sender waits for its answer.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Requests that wait at a simulated endpoint.
const WAITING_MAX: usize = 10_000;

type Asked = (BotRequest, oneshot::Sender<BotReply>);

/// The simulated port: one server at a time listens, requests are handed over in the same thread.
#[derive(Clone, Default)]
pub(crate) struct SimPort(Arc<Mutex<Option<mpsc::Sender<Asked>>>>);

impl SimPort {
    fn slot(&self) -> MutexGuard<'_, Option<mpsc::Sender<Asked>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings a request to the listener; `None` without one, or when it went away.
    pub(crate) async fn deliver(&self, request: BotRequest) -> Option<u16> {
        let listener = self.slot().clone()?;
        let (reply, replied) = oneshot::channel();
        listener.try_send((request, reply)).ok()?;
        let reply = tokio::time::timeout(ANSWER_MAX, replied).await.ok()?.ok()?;
        Some(reply.status)
    }
}

/// Frees the port when the server is gone.
struct Listening<'a>(&'a SimPort);

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.0.slot().take();
    }
}

impl Endpoint for SimPort {
    fn serve<'a>(
        &'a self,
        _address: SocketAddr,
        reception: &'a dyn Reception,
    ) -> LocalBoxFuture<'a, io::Error> {
        Box::pin(async move {
            let (sender, mut asked) = mpsc::channel(WAITING_MAX);
            {
                let mut slot = self.slot();
                if slot.is_some() {
                    return io::ErrorKind::AddrInUse.into();
                }
                *slot = Some(sender);
            }
            let _listening = Listening(self);
            reception.listening();
            let mut working = FuturesUnordered::new();
            loop {
                tokio::select! {
                    biased;
                    Some(()) = working.next(), if !working.is_empty() => {}
                    Some((request, reply)) = asked.recv() => working.push(async move {
                        // The sender may have given up.
                        let _ = reply.send(reception.receive(request).await);
                    }),
                }
            }
        })
    }
}

/// The request of an activity as an endpoint gets it.
pub(crate) fn request(delivery: &BotDelivery) -> BotRequest {
    BotRequest {
        method: "POST".to_owned(),
        path: PATH.to_owned(),
        headers: delivery.headers.clone(),
        body: delivery.body.clone(),
        oversized: false,
    }
}

/// Brings an activity to a real port; `None` when no server listens or answers.
pub(crate) async fn post(port: u16, delivery: &BotDelivery) -> Option<u16> {
    let talk = async {
        let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.ok()?;
        let mut head = format!(
            "POST {PATH} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-length: {}\r\nconnection: close\r\n",
            delivery.body.len()
        );
        for (name, value) in &delivery.headers {
            head = format!("{head}{name}: {value}\r\n");
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).await.ok()?;
        stream.write_all(&delivery.body).await.ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.ok()?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        answer.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
    };
    tokio::time::timeout(ANSWER_MAX, talk).await.ok().flatten()
}

/// The server's settings for a bot that is wanted.
pub(crate) fn settings(bot: &FakeBot) -> BTreeMap<String, String> {
    let (app_id, tenant_id, secret) = bot.registration();
    let settings = [
        ("ENTRACLAW_BOT_APP_ID", app_id),
        ("ENTRACLAW_BOT_TENANT_ID", tenant_id),
        ("ENTRACLAW_BOT_APP_PASSWORD", secret),
    ];
    settings.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Plays a step.
pub(crate) async fn step(play: &Play<'_>, step: &BotStep) -> anyhow::Result<()> {
    match step {
        BotStep::Say(say) => self::say(play, say).await?,
        BotStep::Again(again) => self::again(play, again).await?,
        BotStep::ChangeKeys => play.bot.with(FakeBot::change_keys),
        BotStep::Fault(fault) => play.bot.with(|bot| bot.add_fault(*fault)),
    }
    Ok(())
}

async fn say(play: &Play<'_>, say: &BotSay) -> anyhow::Result<()> {
    let count = say.count.unwrap_or(1);
    let mut deliveries = Vec::new();
    for n in 1..=count {
        let label = match &say.label {
            Some(label) if count > 1 => format!("{label}-{n}"),
            Some(label) => label.clone(),
            None => format!("activity-{}", play.with_view(None, |view| view.ledger.written().len() + 1)),
        };
        let delivery = make(play, say, &label, n)?;
        if say.at_once {
            deliveries.push((label, delivery));
        } else {
            judge(play, say, &label, deliver(play, &delivery, say.nobody_listens).await)?;
        }
    }
    let sending = deliveries.iter().map(|(_, delivery)| deliver(play, delivery, say.nobody_listens));
    let statuses = join_all(sending).await;
    for ((label, _), status) in deliveries.iter().zip(statuses) {
        judge(play, say, label, status)?;
    }
    Ok(())
}

fn make(play: &Play<'_>, say: &BotSay, label: &str, n: u32) -> anyhow::Result<BotDelivery> {
    let scenario = &play.cell.scenario.scenario;
    let number = |text: &String| text.replace("{n}", &n.to_string());
    let handle = say.from.as_ref().map(number).or_else(|| scenario.world.people.keys().next().cloned());
    let handle = handle.ok_or_else(|| anyhow::anyhow!("no person of this world can write to the bot"))?;
    let person = play.graph.with(|graph| graph.person(&handle).cloned())?;
    let name = person.display_name.clone().unwrap_or_default();
    let from = BotPerson { object_id: person.object_id, tenant_id: person.tenant_id, name };
    let conversation = say.conversation.as_ref().map_or_else(|| "bot".to_owned(), number);
    let group = conversation.starts_with("group");
    let id = match &say.message {
        Some(message) => Some(
            play.with_view(None, |view| {
                view.ledger.by_label(message).map(|written| written.message_id.clone())
            })
            .ok_or_else(|| anyhow::anyhow!("no message is labelled `{message}`"))?,
        ),
        None => None,
    };
    let saying = BotSaying {
        event: say.event,
        conversation,
        group,
        mention: say.mention,
        text: number(&say.text),
        quote: say.quote.clone(),
        id,
        forgery: say.forged,
    };
    let now = play.stage.now();
    let delivery = play.bot.with(|bot| bot.deliver(now, &from, &saying));
    let is_new = say.event == fake_microsoft::bot::BotEvent::Message;
    if is_new {
        let at_ms = play.now_ms();
        // What is to come again later may come then.
        let comes = say.status.is_none_or(|status| matches!(status, 200 | 503))
            && !say.unheard
            && !say.nobody_listens
            && (!group || say.mention || say.heard);
        play.written(&Written {
            label: label.to_owned(),
            from: handle.clone(),
            message_id: delivery.id.clone(),
            chat_id: delivery.conversation_id.clone(),
            at_ms,
            visible_ms: at_ms,
            heard: if comes { Heard::of(play.may_speak(&handle)) } else { Heard::Never },
            expected_text: None,
            ordered_after_ms: Some(0),
        });
        play.activities.borrow_mut().insert(label.to_owned(), delivery.clone());
    }
    Ok(delivery)
}

async fn again(play: &Play<'_>, again: &BotAgain) -> anyhow::Result<()> {
    let delivery = play.activities.borrow().get(&again.message).cloned();
    let delivery = delivery.ok_or_else(|| anyhow::anyhow!("no activity is labelled `{}`", again.message))?;
    let say = BotSay { status: again.status, ..BotSay::default() };
    Ok(judge(play, &say, &again.message, deliver(play, &delivery, false).await)?)
}

/// Brings an activity to the server, as soon as it listens.
async fn deliver(play: &Play<'_>, delivery: &BotDelivery, at_once: bool) -> Option<u16> {
    let deadline = tokio::time::Instant::now() + LISTEN_MAX;
    loop {
        let status = play.stage.deliver(delivery).await;
        if status.is_some() || at_once || tokio::time::Instant::now() >= deadline {
            return status;
        }
        tokio::time::sleep(LISTEN_PAUSE).await;
    }
}

fn judge(play: &Play<'_>, say: &BotSay, label: &str, status: Option<u16>) -> Result<(), Miss> {
    let wanted = say.status.unwrap_or(200);
    match status {
        Some(200) if say.any_status => Ok(()),
        _ if say.any_status => {
            play.doubt(label);
            Ok(())
        }
        None if say.nobody_listens => Ok(()),
        None => Err(Miss::new("no session listens for the bot")),
        Some(status) if say.nobody_listens => {
            Err(Miss::new(format!("a session listens and answered {status}")))
        }
        Some(status) if status == wanted || say.or_later && status == 503 => Ok(()),
        Some(status) => Err(Miss::new(format!("the activity was answered with {status}, not {wanted}"))),
    }
}

/// Checks a demand.
pub(crate) fn check(expect: &BotExpect, play: &Play<'_>) -> Result<(), Miss> {
    let (sent, calls) = play.bot.with(|bot| (bot.sent().to_vec(), bot.calls().to_vec()));
    if let Some(most) = expect.keys_fetched_at_most {
        let count = calls.iter().filter(|call| call.contains("/.well-known/keys")).count();
        if count > most as usize {
            return Err(Miss::new(format!("the keys were fetched {count} times, not at most {most}")));
        }
    }
    let Some(wanted) = expect.answers else { return Ok(()) };
    let conversation = expect.conversation.as_deref().map(FakeBot::conversation_id);
    let reply_to = expect.reply_to.as_deref().map(|label| {
        play.with_view(None, |view| view.ledger.by_label(label).map(|written| written.message_id.clone()))
            .unwrap_or_default()
    });
    let count = sent
        .iter()
        .filter(|sent| conversation.as_ref().is_none_or(|id| sent.conversation_id == *id))
        .filter(|sent| reply_to.as_ref().is_none_or(|id| sent.reply_to == *id))
        .filter(|sent| expect.contains.as_deref().is_none_or(|words| sent.text.contains(words)))
        .count();
    if count == wanted as usize {
        return Ok(());
    }
    Err(Miss::new(format!("the bot gave {count} such answers, not {wanted}: {sent:?}")))
}
