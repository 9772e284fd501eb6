//! A headless Chromium, spoken to over a pipe by the DevTools protocol.
//! It must never outlive its owner, and every wait in it has a bound.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

/// Longest that an answer or a change of the page is waited for: a bound for what hangs.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pause between two looks at the page.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Names under which the program is known.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// One browser with one page.
pub(crate) struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    session: Option<String>,
    next_id: u64,
    /// The page's complaints: console, policy, exceptions, dialogs.
    pub(crate) complaints: VecDeque<String>,
    _profile: tempfile::TempDir,
}

/// The program, if there is one.
pub(crate) fn program(told: Option<String>) -> Option<String> {
    let runs = |name: &String| {
        let version =
            Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    };
    told.into_iter().chain(PROGRAMS.map(str::to_owned)).find(runs)
}

impl Browser {
    /// Starts one with an empty page.
    pub(crate) fn start(program: &str) -> anyhow::Result<Self> {
        let profile = tempfile::tempdir()?;
        // The browser speaks on descriptors 3 and 4, which a shell can give without unsafe code.
        let mut child = Command::new("sh")
            .args(["-c", r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null"#, "sh", program])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--remote-debugging-pipe", "--hide-scrollbars", "--window-size=1280,900"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the browser")?;
        let input = child.stdin.take().context("no pipe to the browser")?;
        let output = BufReader::new(child.stdout.take().context("no pipe from the browser")?);
        let (sender, messages) = channel();
        #[expect(
            clippy::disallowed_methods,
            reason = "a pipe is read beside the checks; no clock is paused here"
        )]
        std::thread::spawn(move || {
            for message in output.split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).unwrap_or_default();
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self {
            child,
            input,
            messages,
            session: None,
            next_id: 0,
            complaints: VecDeque::new(),
            _profile: profile,
        };
        let page = browser.ask("Target.createTarget", &json!({"url": "about:blank"}))?;
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        let session = browser.ask("Target.attachToTarget", &attach)?;
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "DOM", "Accessibility"] {
            browser.ask(&format!("{domain}.enable"), &json!({}))?;
        }
        Ok(browser)
    }

    /// Gives a command and waits for its result.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.next_id += 1;
        let mut message = json!({"id": self.next_id, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.input.write_all(format!("{message}\0").as_bytes())?;
        loop {
            let message =
                self.messages.recv_timeout(PATIENCE).with_context(|| format!("no answer to {method}"))?;
            if message["id"] == self.next_id {
                ensure!(message.get("error").is_none(), "{method}: {}", message["error"]);
                return Ok(message["result"].clone());
            }
            self.event(&message)?;
        }
    }

    fn event(&mut self, message: &Value) -> anyhow::Result<()> {
        let params = &message["params"];
        let complaint = match message["method"].as_str() {
            Some("Log.entryAdded") => &params["entry"]["text"],
            Some("Runtime.consoleAPICalled") => &params["args"],
            Some("Runtime.exceptionThrown") => &params["exceptionDetails"],
            Some("Page.javascriptDialogOpening") => {
                self.input.write_all(
                    format!(
                        "{}\0",
                        json!({"id": 0, "method": "Page.handleJavaScriptDialog", "params": {"accept": false}, "sessionId": self.session})
                    )
                    .as_bytes(),
                )?;
                &params["message"]
            }
            _ => return Ok(()),
        };
        self.complaints.push_back(complaint.to_string());
        Ok(())
    }

    /// Opens an address and waits until it has loaded.
    pub(crate) fn open(&mut self, url: &str) -> anyhow::Result<()> {
        let opened = self.ask("Page.navigate", &json!({"url": url}))?;
        ensure!(opened.get("errorText").is_none(), "{opened}");
        self.until(
            "the page has loaded",
            "document.readyState === 'complete' && location.href !== 'about:blank'",
        )
    }

    /// The value of an expression, told to the page as a developer would.
    pub(crate) fn eval(&mut self, expression: &str) -> anyhow::Result<Value> {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let result = self.ask("Runtime.evaluate", &params)?;
        ensure!(result.get("exceptionDetails").is_none(), "{expression}: {}", result["exceptionDetails"]);
        Ok(result["result"]["value"].clone())
    }

    /// Waits until an expression is true.
    pub(crate) fn until(&mut self, what: &str, expression: &str) -> anyhow::Result<()> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            // While a page is left, there is nothing to evaluate in.
            if self.eval(expression).is_ok_and(|value| value == true) {
                return Ok(());
            }
            if tokio::time::Instant::now() > deadline {
                let text = self.eval("document.body.innerText").unwrap_or_default();
                bail!("never: {what}\n{}", text.as_str().unwrap_or_default());
            }
            #[expect(clippy::disallowed_methods, reason = "the checks run on no runtime")]
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Waits until the page has complained of this, and forgives it.
    pub(crate) fn expect_complaint(&mut self, of: &str) -> anyhow::Result<()> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while tokio::time::Instant::now() < deadline {
            if let Some(at) = self.complaints.iter().position(|said| said.contains(of)) {
                self.complaints.remove(at);
                return Ok(());
            }
            // Events come along with answers.
            self.eval("new Promise(done => setTimeout(done, 50))")?;
        }
        bail!("never a complaint of {of}")
    }

    /// Puts the focus on an element, as a click would.
    pub(crate) fn focus(&mut self, selector: &str) -> anyhow::Result<()> {
        let found = self.eval(&format!("(e => {{ e?.focus(); return e === document.activeElement }})(document.querySelector({selector:?}))"))?;
        ensure!(found == true, "nothing to put the focus on: {selector}");
        Ok(())
    }

    /// Types a text where the focus is.
    pub(crate) fn type_text(&mut self, text: &str) -> anyhow::Result<()> {
        self.ask("Input.insertText", &json!({"text": text})).map(|_| ())
    }

    /// Presses a key where the focus is.
    pub(crate) fn press(&mut self, key: &str, code: u32) -> anyhow::Result<()> {
        let text = match key {
            "Enter" => "\r",
            " " => " ",
            _ => "",
        };
        for kind in ["keyDown", "keyUp"] {
            let mut params = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            if kind == "keyDown" && !text.is_empty() {
                params["text"] = json!(text);
            }
            self.ask("Input.dispatchKeyEvent", &params)?;
        }
        Ok(())
    }

    /// The page as it is, also where scripts are switched off.
    pub(crate) fn markup(&mut self) -> anyhow::Result<String> {
        let document = self.ask("DOM.getDocument", &json!({"depth": 0}))?;
        let node = json!({"nodeId": document["root"]["nodeId"]});
        let markup = self.ask("DOM.getOuterHTML", &node)?;
        Ok(markup["outerHTML"].as_str().unwrap_or_default().to_owned())
    }

    /// A picture of what is seen.
    pub(crate) fn picture(&mut self) -> anyhow::Result<Vec<u8>> {
        use base64::Engine as _;
        let shot = self.ask("Page.captureScreenshot", &json!({"format": "png"}))?;
        Ok(base64::engine::general_purpose::STANDARD.decode(shot["data"].as_str().unwrap_or_default())?)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
