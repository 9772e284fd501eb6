//! The server's ways to sign in against the fake Entra, on a paused clock; and `entraclaw login` as a process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use entraclaw_microsoft::entra::keys::{Kept, KeyName, KeyStore as _, MemoryKeyStore};
use entraclaw_microsoft::entra::{
    AuthError, AuthFailure, BrowserLogin, DeviceLogin, EntraParts, Judge, Redirects, check_agent_user,
};
use entraclaw_microsoft::http::{HttpRequest, HttpResponse, HttpTransport, TransportError};
use entraclaw_seams::clock::TokioClock;
use entraclaw_seams::random::SplitMix;
use entraclaw_session::config::{Auth, Config, Delegated, Secret, Sources};
use fake_microsoft::entra::{EntraFault, EntraFaultAction, EntraSpec, FakeEntra, SharedEntra};
use fake_microsoft::graph::{Fate, Request};
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use rstest::rstest;
use tokio::time::Instant;

/// The fake in the same thread.
struct Direct {
    entra: SharedEntra,
    epoch: Timestamp,
    started: Instant,
}

impl Direct {
    fn now(&self) -> Timestamp {
        self.epoch + SignedDuration::try_from(self.started.elapsed()).unwrap()
    }
}

impl HttpTransport for Direct {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        Box::pin(async move {
            let mut asked = Request::new(request.method.as_str(), &request.url);
            (asked.headers, asked.body) = (request.headers, request.body.unwrap_or_default());
            let answer = self.entra.handle(self.now(), &asked);
            tokio::time::sleep(Duration::from_millis(answer.delay_ms)).await;
            let (host, reason) = ("login".to_owned(), "reset".to_owned());
            match answer.fate {
                Fate::Delivered => {
                    Ok(HttpResponse { status: answer.status, headers: answer.headers, body: answer.body })
                }
                Fate::DroppedBeforeApply => Err(TransportError::Connect { host, reason }),
                Fate::DroppedAfterApply => Err(TransportError::Broken { host, reason }),
            }
        })
    }
}

struct World {
    entra: SharedEntra,
    transport: Arc<Direct>,
    keys: MemoryKeyStore,
}

impl World {
    fn new(spec: &EntraSpec) -> Self {
        let epoch: Timestamp = "2026-01-05T09:00:00Z".parse().unwrap();
        let entra = SharedEntra::new(FakeEntra::new(spec, 1, epoch), None);
        let transport = Arc::new(Direct { entra: entra.clone(), epoch, started: Instant::now() });
        Self { entra, transport, keys: MemoryKeyStore::default() }
    }

    fn parts(&self, config: &Config) -> EntraParts {
        EntraParts {
            transport: self.transport.clone(),
            clock: Arc::new(TokioClock::starting_at(self.transport.epoch)),
            random: Arc::new(SplitMix::seeded(5)),
            authority: config.sign_in.authority.clone(),
            request_timeout: Duration::from_secs(20),
            retries_max: entraclaw_microsoft::entra::SIGN_IN_RETRIES_MAX,
        }
    }

    fn config(&self, mode: &str) -> Config {
        let ids = self.entra.with(|entra| entra.ids().clone());
        let environment: BTreeMap<String, String> = [
            ("ENTRACLAW_AUTH", mode),
            ("ENTRABOT_TENANT_ID", &ids.tenant_id),
            ("ENTRABOT_BLUEPRINT_APP_ID", &ids.blueprint_id),
            ("ENTRABOT_AGENT_ID", &ids.agent_id),
            ("ENTRABOT_AGENT_USER_UPN", &ids.agent_user_name),
            ("ENTRABOT_CLIENT_ID", &ids.client_id),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        Config::load(&Sources { environment, ..Sources::default() }).unwrap()
    }

    fn delegated(&self, mode: &str) -> (EntraParts, Delegated) {
        let config = self.config(mode);
        let Auth::Delegated(who) = &config.auth else { panic!("{:?}", config.auth) };
        (self.parts(&config), who.clone())
    }

    async fn kept(&self, who: &Delegated) -> Option<Secret> {
        let name = KeyName {
            kept: Kept::RefreshToken,
            tenant_id: who.tenant_id.clone(),
            client_id: who.client_id.clone(),
        };
        self.keys.get(&name).await.unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn the_hops_work_by_principal_name_and_keep_nothing() {
    let world = World::new(&EntraSpec::default());
    let config = world.config("agent-user");
    let Auth::AgentUser(who) = &config.auth else { panic!("{:?}", config.auth) };
    let name = |kept| KeyName { kept, tenant_id: who.tenant_id.clone(), client_id: who.blueprint_id.clone() };
    let resource = "https://graph.microsoft.com";
    let keys = Arc::new(world.keys.clone());
    let error = check_agent_user(world.parts(&config), keys.clone(), who, resource).await.unwrap_err();
    assert_eq!(error.failure, AuthFailure::NotSignedIn);
    assert!(error.fix.contains("entraclaw login --key"), "{error}");
    let credential = fake_microsoft::entra::Credential::Blueprint;
    keys.put(&name(Kept::PrivateKey), &Secret::new(credential.key_pem())).await.unwrap();
    keys.put(&name(Kept::Certificate), &Secret::new(credential.certificate_pem())).await.unwrap();
    let signed_in = check_agent_user(world.parts(&config), keys, who, resource).await.unwrap();
    let ids = world.entra.with(|entra| entra.ids().clone());
    assert_eq!(signed_in.claims.object_id.unwrap().as_str(), ids.agent_user_id);
    assert_eq!(signed_in.claims.tenant_id.unwrap().as_str(), ids.tenant_id);
    assert!(signed_in.claims.scopes.is_some_and(|scopes| scopes.contains(&"Chat.Read".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_device_code_is_waited_for_at_the_pace_that_was_asked() {
    let world = World::new(&EntraSpec::default());
    let (parts, who) = world.delegated("device-code");
    let login = DeviceLogin::begin(parts, Arc::new(world.keys.clone()), &who).await.unwrap();
    assert_eq!(login.prompt.url, "https://microsoft.com/devicelogin");
    let code = login.prompt.code.clone();
    // Some trouble on the way is no end.
    world
        .entra
        .with(|entra| {
            entra.add_fault(EntraFault {
                from_ms: Some(9_000),
                first: Some(2),
                ..EntraFault::always(EntraFaultAction::ResetBeforeApply)
            })?;
            let slow =
                EntraFaultAction::Refuse { error: "slow_down".to_owned(), number: 70_016, status: None };
            entra.add_fault(EntraFault { from_ms: Some(24_000), first: Some(1), ..EntraFault::always(slow) })
        })
        .unwrap();
    let person = async {
        tokio::time::sleep(Duration::from_secs(47)).await;
        world.entra.with(|entra| entra.answer_device(&code, true)).unwrap();
    };
    let started = Instant::now();
    let (signed_in, ()) = tokio::join!(login.finish(), person);
    assert!(signed_in.unwrap().claims.object_id.is_some());
    assert!(started.elapsed() <= Duration::from_secs(60), "{:?}", started.elapsed());
    assert!(world.kept(&who).await.is_some());
    // After slow_down at 25 s the interval is ten seconds: 35, 45, 55.
    world.entra.with(|entra| assert_eq!(entra.calls().len(), 1 + 5 + 3, "{:?}", entra.calls()));
}

#[rstest]
#[case(Some(false), "authorization_declined")]
#[case(None, "in time")]
#[tokio::test(start_paused = true)]
async fn a_refused_or_expired_device_code_ends(#[case] verdict: Option<bool>, #[case] told: &str) {
    let world = World::new(&EntraSpec::default());
    let (parts, who) = world.delegated("device-code");
    let login = DeviceLogin::begin(parts, Arc::new(world.keys.clone()), &who).await.unwrap();
    if let Some(verdict) = verdict {
        world.entra.with(|entra| entra.answer_device(&login.prompt.code, verdict)).unwrap();
    }
    let error = login.finish().await.unwrap_err().to_string();
    assert!(error.contains(told) || error.contains("expired_token"), "{error}");
    assert!(error.contains("entraclaw login"), "{error}");
    assert_eq!(world.kept(&who).await, None);
}

/// A browser that follows the address at once.
struct Browser {
    transport: Arc<Direct>,
    url: Arc<Mutex<String>>,
    /// Changes the query that comes back.
    spoil: fn(String) -> String,
}

impl Redirects for Browser {
    fn uri(&self) -> String {
        "http://localhost:49152".to_owned()
    }

    fn wait<'a>(&'a mut self, judge: Judge<'a>) -> BoxFuture<'a, Result<Secret, AuthError>> {
        Box::pin(async move {
            assert_eq!(judge("code=guess&state=guess"), None);
            let url = self.url.lock().unwrap().clone();
            let answer = self.transport.entra.handle(self.transport.now(), &Request::get(&url));
            let location = answer.header("location").expect("Entra leads back").to_owned();
            let (back, query) = location.split_once("/?").unwrap();
            assert_eq!(back, self.uri());
            match judge(&(self.spoil)(query.to_owned())) {
                Some(outcome) => outcome,
                None => std::future::pending().await,
            }
        })
    }
}

#[rstest]
#[case(|query: String| query, None)]
#[case(|query: String| format!("{query}x"), Some("has not come back"))]
#[case(|query: String| query.replace("code=", "code=x"), Some("AADSTS70008"))]
#[case(|query: String| query.replace("code=", "error=access_denied&c="), Some("access_denied"))]
#[tokio::test(start_paused = true)]
async fn a_browser_signs_in_with_pkce_and_only_with_its_own_state(
    #[case] spoil: fn(String) -> String,
    #[case] told: Option<&str>,
) {
    let world = World::new(&EntraSpec::default());
    let (parts, who) = world.delegated("browser");
    let url = Arc::new(Mutex::new(String::new()));
    let mut browser = Browser { transport: world.transport.clone(), url: url.clone(), spoil };
    let login = BrowserLogin::begin(parts, Arc::new(world.keys.clone()), &who, &browser.uri()).unwrap();
    login.url.clone_into(&mut url.lock().unwrap());
    let outcome = login.finish(&mut browser).await;
    match (outcome, told) {
        (Ok(_), None) => assert!(world.kept(&who).await.is_some()),
        (Err(error), Some(told)) => {
            assert!(error.to_string().contains(told), "{error}");
            assert_eq!(world.kept(&who).await, None);
        }
        (outcome, told) => panic!("{outcome:?} {told:?}"),
    }
}

/// The program against the fake over HTTP: real files, real exit codes.
mod process {
    #![expect(clippy::disallowed_methods, reason = "a real process has real files and a real clock")]

    use std::io::{BufRead as _, BufReader, Write as _};
    use std::path::Path;
    use std::process::Stdio;

    use assert_cmd::Command;
    use fake_microsoft::entra::{Credential, EntraServer, serve};

    use super::*;

    struct Fixture {
        _runtime: tokio::runtime::Runtime,
        server: EntraServer,
        folder: tempfile::TempDir,
        binary: std::path::PathBuf,
    }

    impl Fixture {
        fn new(mode: &str, more: &str) -> Self {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
            let entra = SharedEntra::new(FakeEntra::new(&EntraSpec::default(), 1, Timestamp::now()), None);
            let server = runtime.block_on(serve(entra, Timestamp::now));
            let folder = tempfile::tempdir().unwrap();
            let ids = server.fake.with(|entra| entra.ids().clone());
            let config = format!(
                "[auth]\nmode = \"{mode}\"\nlogin_url = \"{}\"\nkey_store = \"file\"\nblueprint_id = \"{}\"\n\
                 agent_id = \"{}\"\nclient_id = \"{}\"\n{more}\n[identity]\ntenant_id = \"{}\"\nobject_id = \"{}\"\n",
                server.base_url(),
                ids.blueprint_id,
                ids.agent_id,
                ids.client_id,
                ids.tenant_id,
                ids.agent_user_id
            );
            let binary =
                simulation::command::server_binary(None).expect("cargo works").expect("the server is built");
            let fixture = Self { _runtime: runtime, server, folder, binary };
            std::fs::create_dir(fixture.home()).unwrap();
            std::fs::write(fixture.home().join("config.toml"), config).unwrap();
            fixture
        }

        fn home(&self) -> std::path::PathBuf {
            self.folder.path().join("home")
        }

        fn run(&self, arguments: &[&str]) -> (i32, String, String) {
            let home = self.home();
            let mut command = Command::new(&self.binary);
            command.args(arguments).env_clear().env("ENTRACLAW_HOME", &home);
            let output = command.output().unwrap();
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
        }

        #[cfg(unix)]
        fn key_file(&self, credential: Credential, mode: u32) -> std::path::PathBuf {
            use std::os::unix::fs::PermissionsExt as _;
            let path = self.folder.path().join("key.pem");
            let pem = format!("{}{}", credential.key_pem(), credential.certificate_pem());
            std::fs::write(&path, pem).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            path
        }

        /// Nothing that was given out is anywhere but in the key store.
        fn look_for_secrets(&self, said: &str) {
            let secrets = self.server.fake.with(|entra| entra.secrets().to_vec());
            let mut texts = vec![said.to_owned()];
            for name in ["config.toml", "sign-in.json", "log/entraclaw.log"] {
                texts.extend(std::fs::read_to_string(self.home().join(name)));
            }
            for secret in secrets {
                assert!(texts.iter().all(|text| !text.contains(&secret)), "a token is shown");
            }
        }
    }

    #[test]
    #[cfg(unix)]
    fn an_agent_user_brings_its_key_and_is_checked() {
        let fixture = Fixture::new("agent-user", "");
        let (code, _, stderr) = fixture.run(&["login"]);
        assert_eq!(code, 1, "{stderr}");
        assert!(
            stderr.contains("there is no private key") && stderr.contains("login --key FILE"),
            "{stderr}"
        );
        let key = fixture.key_file(Credential::Blueprint, 0o640);
        let (code, _, stderr) = fixture.run(&["login", "--key", key.to_str().unwrap()]);
        assert!(code == 1 && stderr.contains("mode 640") && stderr.contains("chmod 600"), "{stderr}");
        let key = fixture.key_file(Credential::Blueprint, 0o600);
        let (code, stdout, stderr) = fixture.run(&["login", "--key", key.to_str().unwrap()]);
        assert_eq!(code, 0, "{stdout}{stderr}");
        assert!(stdout.contains("Signed in: object id") && stdout.contains("Chat.Read"), "{stdout}");
        assert!(stdout.contains("thumbprint") && stdout.contains("delete"), "{stdout}");
        fixture.look_for_secrets(&format!("{stdout}{stderr}"));
        let (code, stdout, _) = fixture.run(&["login"]);
        assert_eq!(code, 0, "{stdout}");
        let (code, stdout, _) = fixture.run(&["logout"]);
        assert!(code == 0 && stdout.contains("logout --key"), "{stdout}");
        let (code, stdout, _) = fixture.run(&["logout", "--key"]);
        assert!(code == 0 && stdout.contains("Signed out"), "{stdout}");
        assert_eq!(fixture.run(&["login"]).0, 1);
    }

    #[test]
    #[cfg(unix)]
    fn a_wrong_certificate_says_what_to_do() {
        let fixture = Fixture::new("agent-user", "");
        let key = fixture.key_file(Credential::Other, 0o600);
        let (code, _, stderr) = fixture.run(&["login", "--key", key.to_str().unwrap()]);
        assert_eq!(code, 1);
        assert!(stderr.contains("AADSTS700027") && stderr.contains("add the certificate"), "{stderr}");
    }

    #[test]
    fn a_device_code_is_shown_and_the_sign_in_kept_and_forgotten() {
        let fixture = Fixture::new("device-code", "");
        let person = {
            let entra = fixture.server.fake.clone();
            let (stop, stopped) = std::sync::mpsc::channel::<()>();
            let thread = std::thread::spawn(move || {
                loop {
                    for code in entra.with(|entra| entra.user_codes()) {
                        entra.with(|entra| entra.answer_device(&code, true)).unwrap();
                    }
                    if stopped.recv_timeout(Duration::from_millis(50))
                        != Err(std::sync::mpsc::RecvTimeoutError::Timeout)
                    {
                        return;
                    }
                }
            });
            (stop, thread)
        };
        let (code, stdout, stderr) = fixture.run(&["login"]);
        drop(person.0);
        person.1.join().unwrap();
        assert_eq!(code, 0, "{stdout}{stderr}");
        assert!(
            stdout.contains("https://microsoft.com/devicelogin") && stdout.contains("Signed in"),
            "{stdout}"
        );
        fixture.look_for_secrets(&format!("{stdout}{stderr}"));
        let record = std::fs::read_to_string(fixture.home().join("sign-in.json")).unwrap();
        let record: serde_json::Value = serde_json::from_str(&record).unwrap();
        assert_eq!((&record["mode"], &record["key_store"]), (&"device-code".into(), &"file".into()));
        assert_eq!(schemas::own::check("sign-in", &record), Ok(vec![]));
        assert_eq!(keys(&fixture.home()), 1);
        let (code, stdout, _) = fixture.run(&["logout"]);
        assert!(code == 0 && stdout.contains("Signed out"), "{stdout}");
        assert_eq!((keys(&fixture.home()), fixture.home().join("sign-in.json").exists()), (0, false));
        let (code, stdout, _) = fixture.run(&["logout"]);
        assert!(code == 0 && stdout.contains("Nothing was kept"), "{stdout}");
    }

    fn keys(home: &Path) -> usize {
        std::fs::read_dir(home.join("keys")).map_or(0, |files| files.flatten().count())
    }

    #[rstest]
    #[case("static", &["login"], "there is no token")]
    #[case("", &["login"], "is none that is known")]
    #[case("browser", &["login", "--key", "/x"], "for `auth.mode` agent-user only")]
    #[case("agent-user", &["login", "--no-such-flag"], "unexpected argument")]
    fn wrong_usage_and_configuration_are_exit_code_2(
        #[case] mode: &str,
        #[case] arguments: &[&str],
        #[case] told: &str,
    ) {
        let fixture = Fixture::new(mode, "");
        let (code, stdout, stderr) = fixture.run(arguments);
        assert_eq!((code, stdout.as_str()), (2, ""));
        assert!(stderr.contains(told), "{stderr}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn without_a_system_store_the_fix_is_named() {
        let fixture = Fixture::new("device-code", "");
        let config = fixture.home().join("config.toml");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, text.replace("key_store = \"file\"\n", "")).unwrap();
        for command in ["logout", "login"] {
            // No session bus is at this address.
            let mut process = Command::new(&fixture.binary);
            process.arg(command).env_clear().env("ENTRACLAW_HOME", fixture.home());
            process.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere/bus");
            let output = process.output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{stderr}");
            assert!(stderr.contains("key store") && stderr.contains("auth.key_store"), "{stderr}");
            assert!(output.stdout.is_empty(), "no person is asked for a sign-in that can't be kept");
        }
    }

    #[test]
    fn two_stores_are_not_mixed() {
        let fixture = Fixture::new("device-code", "");
        let record = r#"{"version":1,"mode":"device-code","key_store":"system","tenant_id":"t","client_id":"c","signed_in_at":"2026-01-05T09:00:00Z"}"#;
        std::fs::write(fixture.home().join("sign-in.json"), record).unwrap();
        let stdin = concat!(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send_teams_message","arguments":{"chat_id":"x","content":"y"}}}"#,
            "\n",
        );
        let mut serve = std::process::Command::new(&fixture.binary)
            .arg("serve")
            .env_clear()
            .env("ENTRACLAW_HOME", fixture.home())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut to_serve = serve.stdin.take().unwrap();
        to_serve.write_all(stdin.as_bytes()).unwrap();
        // An end of the input would end the session, and with it the call.
        let mut stdout = String::new();
        for line in BufReader::new(serve.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            let answered = line.contains("\"id\":1,");
            stdout.push_str(&line);
            if answered {
                break;
            }
        }
        drop(to_serve);
        let output = serve.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.contains("was kept in the key store \"system\""), "{stdout}{stderr}");
    }
}
