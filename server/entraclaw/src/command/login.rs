//! `entraclaw login` and `logout`: sign the agent in at a terminal, and out again.
//! They must never print a token or a key, and never start a server.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use jiff::Timestamp;

use super::environment::Environment;
use super::loopback::Loopback;
use super::output::{self, Done, Failure, usage};
use super::place::{Entry, Home, Place};
use entraclaw_inbox::gate::Guid;
use entraclaw_microsoft::entra::keys::{Kept, KeyStore, chosen_store, read_pem, with_files};
use entraclaw_microsoft::entra::{AgentUser, Auth, Delegated, LoginBy};
use entraclaw_microsoft::entra::{
    AuthError, AuthFailure, BrowserLogin, DeviceLogin, EntraParts, Redirects as _, SignInRecord, SignedIn,
    Validity, check_agent_user, check_key, graph_resource, split_pem, thumbprint_of,
};
use entraclaw_microsoft::http::ReqwestTransport;
use entraclaw_seams::clock::{Clock as _, SystemClock};
use entraclaw_seams::random::SplitMix;
use entraclaw_seams::secret::Secret;

/// Flags of `login`.
#[derive(Debug, clap::Args)]
#[command(after_help = LOGIN_HELP)]
pub(super) struct LoginFlags {
    #[command(flatten)]
    home: Home,
    /// First put this PEM private key into the key store, with the certificate if the file has one
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// First put this PEM certificate into the key store
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Only print the address, don't open a browser
    #[arg(long)]
    no_browser: bool,
}

const LOGIN_HELP: &str = "\
agent-user: no person is asked; the three hops are tried, and no token is kept.
device-code, browser: a person signs the agent's account in once; the key store keeps the refresh token.
Exit codes: 0 signed in; 1 it failed, and why is said; 2 wrong usage or configuration.";

/// Flags of `logout`.
#[derive(Debug, clap::Args)]
pub(super) struct LogoutFlags {
    #[command(flatten)]
    home: Home,
    /// Also remove the private key and the certificate; they can't be brought back
    #[arg(long)]
    key: bool,
}

pub(super) fn login(flags: LoginFlags) -> ExitCode {
    output::end(output::block_on(sign_in(flags)).map_err(Failure::from).flatten())
}

pub(super) fn logout(flags: LogoutFlags) -> ExitCode {
    output::end(output::block_on(sign_out(flags)).map_err(Failure::from).flatten())
}

/// Prints a line for the person at the terminal, who may have closed it.
fn say(text: &str) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

impl From<AuthError> for Failure {
    fn from(error: AuthError) -> Self {
        if error.is_transient() {
            // These commands do not try again by themselves.
            return format!("{}; check the network and `auth.login_url`, and try again", error.problem)
                .into();
        }
        error.to_string().into()
    }
}

/// The configuration, which must be valid here: there is no model to tell.
fn ready(home: Home) -> Result<Place, Failure> {
    let place = Place::find(Entry::Take, home, Vec::new(), &Environment::read());
    let troubles = place.troubles();
    if troubles.is_empty() {
        return Ok(place);
    }
    Err(usage(format!("the configuration is not right:\n{}", troubles.join("\n"))))
}

const NO_MODE: &str = "`auth.mode` is not set; write one of \"agent-user\", \"device-code\" and \"browser\" below [auth] in \
                       config.toml, with the ids that it needs";

async fn sign_in(flags: LoginFlags) -> Done {
    let place = ready(flags.home.clone())?;
    let config = &place.config;
    let keys = chosen_store(&config.sign_in, &place.storage(), place.home.clone().unwrap_or_default());
    let parts = EntraParts {
        transport: Arc::new(ReqwestTransport::new(config.sign_in.authority.is_loopback())),
        clock: Arc::new(SystemClock),
        random: Arc::new(SplitMix::from_os()),
        authority: config.sign_in.authority.clone(),
        request_timeout: config.graph.request_timeout,
        // A person waits.
        retries_max: 1,
    };
    match &config.auth {
        Auth::None => return Err(usage(NO_MODE)),
        Auth::Static(_) | Auth::TokenFile(_) => {
            return Err(usage("`auth.mode` is static: the token is given, so there is nothing to sign in"));
        }
        Auth::AgentUser(who) => {
            let with_files = with_files(&config.auth, keys.clone());
            bring_keys(&flags, who, &*keys, &*with_files).await?;
            let ids = (&who.tenant_id, &who.blueprint_id);
            if flags.key.is_some() {
                // The key is here, even if the hops fail.
                record(&place, ids, None)?;
            }
            say(&format!("Trying the three hops at {} …", config.sign_in.authority.name()));
            let resource = graph_resource(&config.graph.origin);
            let signed_in = check_agent_user(parts, with_files, who, &resource).await?;
            record(&place, ids, Some(SystemClock.now()))?;
            say_who(&signed_in);
        }
        Auth::Delegated(who) => {
            if flags.key.is_some() || flags.certificate.is_some() {
                return Err(usage("--key and --certificate are for `auth.mode` agent-user only"));
            }
            // A sign-in is useless if the store can't keep it.
            keys.get(&who.key_name()).await?;
            let signed_in = match who.how {
                LoginBy::DeviceCode => by_device(parts, keys.clone(), who).await?,
                LoginBy::Browser => by_browser(parts, keys.clone(), who, flags.no_browser).await?,
            };
            record(&place, (&who.tenant_id, &who.client_id), Some(SystemClock.now()))?;
            say_who(&signed_in);
            say(&format!("The refresh token is kept in {}. `entraclaw logout` removes it.", keys.name()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn say_who(signed_in: &SignedIn) {
    let known = |id: &Option<Guid>| {
        id.as_ref().map_or_else(|| "(the token does not say)".to_owned(), ToString::to_string)
    };
    say(&format!(
        "Signed in: object id {}, tenant {}, the token lives {} minutes.",
        known(&signed_in.claims.object_id),
        known(&signed_in.claims.tenant_id),
        signed_in.life.as_secs() / 60
    ));
    if let Some(scopes) = signed_in.claims.scopes.as_ref().filter(|scopes| !scopes.is_empty()) {
        say(&format!("It may: {}.", scopes.join(", ")));
    }
}

async fn by_device(
    parts: EntraParts,
    keys: Arc<dyn KeyStore>,
    who: &Delegated,
) -> Result<SignedIn, AuthError> {
    let login = DeviceLogin::begin(parts, keys, who).await?;
    let prompt = &login.prompt;
    say(&format!(
        "Open {} and enter the code {} within {} minutes. Sign in as the agent's own account.",
        prompt.url,
        prompt.code,
        prompt.life.as_secs() / 60
    ));
    login.finish().await
}

async fn by_browser(
    parts: EntraParts,
    keys: Arc<dyn KeyStore>,
    who: &Delegated,
    no_browser: bool,
) -> Result<SignedIn, AuthError> {
    let mut loopback = Loopback::open().await.map_err(|error| {
        let problem = format!("no port on 127.0.0.1 can be listened on: {error}");
        AuthError::new(AuthFailure::Setup, problem, "set `auth.mode` to \"device-code\"")
    })?;
    let login = BrowserLogin::begin(parts, keys, who, &loopback.uri())?;
    say(&format!("Sign in as the agent's own account at this address:\n{}", login.url));
    if no_browser || open::that_detached(&login.url).is_err() {
        say(
            "Open it in a browser on this machine, for it comes back to this machine (over ssh, forward the port of the \
             address). Waiting; Ctrl-C gives up.",
        );
    }
    login.finish(&mut loopback).await
}

/// Puts the brought key and certificate into `keys`, once they fit together; `known` also has those of the configuration.
async fn bring_keys(
    flags: &LoginFlags,
    who: &AgentUser,
    keys: &dyn KeyStore,
    known: &dyn KeyStore,
) -> Result<(), Failure> {
    let mut brought: Vec<(Kept, Secret, &Path)> = Vec::new();
    if let Some(path) = &flags.key {
        let (key, certificate) = split_pem(&read_pem(path, true)?)?;
        brought.push((Kept::PrivateKey, key, path));
        brought.extend(certificate.map(|certificate| (Kept::Certificate, certificate, path.as_path())));
    }
    if let Some(path) = &flags.certificate {
        brought.push((Kept::Certificate, read_pem(path, false)?, path));
    }
    let of = |wanted| brought.iter().rfind(|(kept, ..)| *kept == wanted).map(|(_, secret, _)| secret.clone());
    let key = match of(Kept::PrivateKey) {
        Some(key) => Some(key),
        None if brought.is_empty() => None,
        None => known.get(&who.key_name(Kept::PrivateKey)).await?,
    };
    let certificate = match of(Kept::Certificate) {
        Some(certificate) => Some(certificate),
        None => known.get(&who.key_name(Kept::Certificate)).await?,
    };
    if let Some(dates) = certificate.as_ref().and_then(Validity::read) {
        dates.check(SystemClock.now())?;
    }
    if let Some(key) = key {
        check_key(&key, certificate.as_ref(), who.thumbprint.as_ref(), who.algorithm)?;
    }
    for (kept, secret, path) in &brought {
        if *kept == Kept::Certificate {
            let Some(thumbprint) = thumbprint_of(secret) else {
                return Err(usage(format!("{} holds no PEM certificate", path.display())));
            };
            say(&format!("The certificate's SHA-256 thumbprint is {thumbprint}."));
        }
        keys.put(&who.key_name(*kept), secret).await?;
    }
    if let Some(path) = &flags.key {
        say(&format!(
            "The private key is kept in {} now; delete {}, and every other copy of the key.",
            keys.name(),
            path.display()
        ));
    }
    Ok(())
}

/// Records which store has the secrets of this tenant and application, and when they last signed in.
fn record(
    place: &Place,
    (tenant_id, client_id): (&Guid, &Guid),
    signed_in_at: Option<Timestamp>,
) -> Result<(), String> {
    let record = SignInRecord {
        version: 1,
        mode: place.config.auth.mode().to_owned(),
        key_store: place.config.sign_in.key_store.as_str().to_owned(),
        tenant_id: tenant_id.to_string(),
        client_id: client_id.to_string(),
        signed_in_at,
    };
    record
        .write(&*place.storage())
        .map_err(|error| format!("sign-in.json can't be written: {error}; see that the home folder is yours"))
}

async fn sign_out(flags: LogoutFlags) -> Done {
    let place = ready(flags.home)?;
    let config = &place.config;
    let keys = chosen_store(&config.sign_in, &place.storage(), place.home.clone().unwrap_or_default());
    let names = match &config.auth {
        Auth::None => return Err(usage(NO_MODE)),
        Auth::Static(_) | Auth::TokenFile(_) => {
            return Err(usage("`auth.mode` is static: nothing is kept, so there is nothing to forget"));
        }
        Auth::AgentUser(who) if flags.key => {
            [Kept::PrivateKey, Kept::Certificate].map(|kept| who.key_name(kept)).to_vec()
        }
        Auth::AgentUser(_) => {
            say(
                "An agent user has no sign-in to forget. `entraclaw logout --key` removes its private key from here.",
            );
            return Ok(ExitCode::SUCCESS);
        }
        Auth::Delegated(who) => vec![who.key_name()],
    };
    let mut removed = false;
    for name in &names {
        removed |= keys.remove(name).await?;
    }
    SignInRecord::remove(&*place.storage())
        .map_err(|error| format!("sign-in.json can't be removed: {error}; remove it by hand"))?;
    say(&if removed {
        format!(
            "Signed out: removed from {}. A running server stays signed in until its token ends.",
            keys.name()
        )
    } else {
        format!("Nothing was kept in {}.", keys.name())
    });
    Ok(ExitCode::SUCCESS)
}
