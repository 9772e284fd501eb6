//! Uses the page of `simulation play` in a real browser, by keys as a person would, and checks that it behaves: what is
//! written is seen by the server's session and back, no text of a person runs, and it works without scripts.
//!
//! ```sh
//! cargo run --release --example play_in_browser [FOLDER FOR PICTURES]
//! ```
//!
//! Exit codes: 0 it behaves, 1 it does not, 3 there is no Chromium. `CHROMIUM` names another program of that family.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "its output is its purpose")]

mod browser;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::{Context as _, ensure};
use browser::Browser;
use serde_json::{Value, json};

/// Calls that wait, at most, until a message has reached the session.
const CALLS_MAX: usize = 5;
/// Texts of a hostile person. Any of them that runs changes the title.
const HOSTILE: &str = "</p></pre></textarea></script><script>document.title='EXECUTED'</script><img src=x onerror=\"document.title='EXECUTED'\"><svg onload=document.title='EXECUTED'><a href=\"javascript:document.title='EXECUTED'\">x</a>";

fn main() -> ExitCode {
    #[expect(clippy::disallowed_methods, reason = "the command line's edge reads the environment")]
    let told = std::env::var("CHROMIUM").ok();
    let Some(program) = browser::program(told) else {
        eprintln!("no Chromium found: install the package `chromium`, or name the program in CHROMIUM");
        return ExitCode::from(3);
    };
    let pictures = std::env::args_os().nth(1).map(PathBuf::from);
    match check(&program, pictures.as_deref()) {
        Ok(()) => {
            println!("the page of `play` behaves");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("FAIL {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn check(program: &str, pictures: Option<&Path>) -> anyhow::Result<()> {
    let sandbox = Sandbox::start()?;
    let mut browser = Browser::start(program)?;
    control(&mut browser).context("the checks are worth nothing unless they can fail")?;
    browser.open(&sandbox.url)?;
    behaves(&mut browser)?;
    by_keys(&mut browser)?;
    names(&mut browser)?;
    writing(&mut browser)?;
    session(&mut browser)?;
    drafts(&mut browser)?;
    mail_and_group(&mut browser, &sandbox.url)?;
    looks(&mut browser, &sandbox.url, pictures)?;
    without_scripts(&mut browser, &sandbox.url)
}

/// `simulation play --drive`, ended when this is dropped.
struct Sandbox {
    child: Child,
    url: String,
}

impl Sandbox {
    fn start() -> anyhow::Result<Self> {
        // target/PROFILE/examples/play_in_browser
        let here = std::env::current_exe()?;
        let folder = here.parent().and_then(Path::parent).context("the folder of programs")?;
        let program = folder.join(format!("simulation{}", std::env::consts::EXE_SUFFIX));
        let mut child =
            Command::new(&program).args(["play", "--drive"]).stdout(Stdio::piped()).spawn().with_context(
                || format!("cannot start {}; build it with `cargo build`", program.display()),
            )?;
        let mut lines = BufReader::new(child.stdout.take().context("a pipe")?).lines();
        let first = lines.next().context("it said nothing")??;
        let url = first.strip_prefix("page: ").context("its first line is the address")?.to_owned();
        // Its other output must be read, or it would block.
        #[expect(
            clippy::disallowed_methods,
            reason = "a pipe is read beside the checks; no clock is paused here"
        )]
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Ok(Self { child, url })
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }
}

/// A page that does all of it is noticed.
fn control(browser: &mut Browser) -> anyhow::Result<()> {
    browser.open("data:text/html,<title>quiet</title><meta http-equiv=Content-Security-Policy content=\"img-src 'none'\"><img src=data:,><script>document.title='EXECUTED';alert(1)</script>")?;
    ensure!(browser.eval("document.title")? == "EXECUTED", "a script that ran was not noticed");
    browser.expect_complaint("Content Security Policy").context("a breach of policy was not noticed")?;
    browser.expect_complaint("\"1\"").context("a dialog was not noticed")?;
    browser.complaints.clear();
    Ok(())
}

/// Nothing ran, nothing was fetched, nothing was said.
fn behaves(browser: &mut Browser) -> anyhow::Result<()> {
    let title = browser.eval("document.title")?;
    ensure!(title.as_str().is_some_and(|title| title.ends_with("· simulation play")), "the title is {title}");
    for element in
        ["img", "iframe", "object", "embed", "base", "svg", "audio", "video", "a[href^=javascript]"]
    {
        let found = browser.eval(&format!("document.querySelectorAll({element:?}).length"))?;
        ensure!(found == 0, "there is an <{element}> that we did not write");
    }
    ensure!(browser.eval("document.scripts.length")? == 1, "there is not exactly one script");
    ensure!(browser.complaints.is_empty(), "the page says: {:?}", browser.complaints);
    Ok(())
}

/// Tab goes through everything in the order of the page, and the focus is seen.
fn by_keys(browser: &mut Browser) -> anyhow::Result<()> {
    let mut order = Vec::new();
    for _ in 0..40 {
        browser.press("Tab", 9)?;
        let focus = "(e => e.scripts || e === document.body ? 'end' : [e.className, e.id, e.value, e.name, e.textContent.trim()].find(t => t) ?? e.tagName)(document.activeElement)";
        order.push(browser.eval(focus)?.as_str().unwrap_or_default().to_owned());
    }
    let at = |wanted: &str| order.iter().position(|found| found.starts_with(wanted));
    let places =
        ["skip", "Set a host up", "Alice", "Mallory", "messages", "text", "main", "start", "initialize"]
            .map(at);
    ensure!(places.iter().all(Option::is_some) && places.is_sorted(), "the order of the focus: {order:?}");
    ensure!(order[0] == "skip", "the first stop is the way past the list: {order:?}");
    Ok(())
}

/// Everything that takes the focus has a name for a screen reader.
fn names(browser: &mut Browser) -> anyhow::Result<()> {
    let tree = browser.ask("Accessibility.getFullAXTree", &json!({}))?;
    let nodes = tree["nodes"].as_array().context("a tree")?;
    let is_focusable = |node: &&Value| {
        let properties = node["properties"].as_array().into_iter().flatten();
        properties
            .into_iter()
            .any(|property| property["name"] == "focusable" && property["value"]["value"] == true)
    };
    let mut seen = 0;
    for node in nodes.iter().filter(is_focusable) {
        let role = node["role"]["value"].as_str().unwrap_or_default();
        if ["RootWebArea", "generic", "paragraph", "StaticText"].contains(&role) {
            continue;
        }
        seen += 1;
        let name = node["name"]["value"].as_str().unwrap_or_default().trim();
        ensure!(!name.is_empty(), "a {role} has no name: {node}");
    }
    ensure!(seen > 20, "only {seen} elements take the focus");
    Ok(())
}

const LAST: &str = "document.querySelector('#messages > li:last-child')";

/// Types a hostile text as a person; it is shown, and stays text.
fn writing(browser: &mut Browser) -> anyhow::Result<()> {
    browser.focus("#text")?;
    browser.type_text(HOSTILE)?;
    browser.press("Enter", 13)?;
    browser.until(
        "the message is shown",
        &format!("{LAST}?.querySelector('.text')?.textContent.includes('EXECUTED')"),
    )?;
    ensure!(browser.eval("document.querySelector('#text').value")? == "", "what was sent is still there");
    ensure!(browser.eval("document.activeElement.id")? == "text", "the focus has left the text");
    behaves(browser)?;
    browser.eval("document.querySelector('[name=html]').click()")?;
    browser.type_text(HOSTILE)?;
    browser.press("Enter", 13)?;
    browser.until("the HTML is shown", "document.querySelectorAll('#messages > li').length === 2")?;
    browser.eval("document.querySelector('[name=html]').click()")?;
    let source = browser.eval(&format!("{LAST}.querySelector('pre').textContent"))?;
    ensure!(source == HOSTILE, "as sent: {source}");
    // Changing and deleting.
    browser.eval("document.querySelector('#messages form').closest('details').open = true")?;
    browser.focus("#messages textarea")?;
    browser.eval("document.activeElement.select()")?;
    browser.type_text("changed words")?;
    browser.focus("#messages button[value=edit]")?;
    browser.press("Enter", 13)?;
    let first = "document.querySelector('#messages > li:first-child').textContent";
    browser.until(
        "the change is shown",
        &format!("{first}.includes('changed words') && {first}.includes('· changed')"),
    )?;
    browser.eval("document.querySelector('#messages form').closest('details').open = true")?;
    browser.focus("#messages button[value=delete]")?;
    browser.press("Enter", 13)?;
    browser.until(
        "the deletion is shown",
        "document.querySelector('#messages > li:first-child .soft')?.textContent === 'deleted'",
    )?;
    behaves(browser)
}

/// Plays the model: the message reaches the session, a hostile answer comes back and stays text.
fn session(browser: &mut Browser) -> anyhow::Result<()> {
    browser
        .until("the server runs", "document.querySelector('#session-status').textContent.includes('runs')")?;
    for (order, wanted) in [("initialize", "protocolVersion"), ("tools", "inputSchema")] {
        browser.focus(&format!("button[value={order}]"))?;
        browser.press("Enter", 13)?;
        browser.until(order, &format!("document.querySelector('#wire').textContent.includes({wanted:?})"))?;
    }
    browser.until("a server polls", "document.querySelector('#polling').className.includes('p-now')")?;
    browser.focus("#text")?;
    browser.type_text("hello from the browser")?;
    browser.press("Enter", 13)?;
    heard(browser)?;
    let chat = browser.eval("document.querySelector('[name=chat_id]').value")?;
    let arguments = json!({"chat_id": chat, "content": HOSTILE, "content_type": "text"});
    let params = json!({"name": "send_teams_message", "arguments": arguments});
    let line = json!({"jsonrpc": "2.0", "id": "mine", "method": "tools/call", "params": params}).to_string();
    browser.eval("document.querySelector('[name=line]').closest('details').open = true")?;
    browser.focus("[name=line]")?;
    browser.type_text(&line)?;
    browser.focus("button[value=raw]")?;
    browser.press("Enter", 13)?;
    browser.until("the answer comes back", &format!("{LAST}.className === 'agent'"))?;
    behaves(browser)
}

/// Waits as a model does, one call after the other, until the last message has reached the session: on a slow machine
/// the server has read what was written before it by then, and the first call returns with that alone.
fn heard(browser: &mut Browser) -> anyhow::Result<()> {
    let reached = format!("{LAST}.querySelector('.marks').textContent === 'reached your session'");
    let answers = "[...document.querySelectorAll('#wire .in summary')].filter(e => e.textContent.includes('answer')).length";
    for _ in 0..CALLS_MAX {
        let before = browser.eval(answers)?;
        browser.focus("button[value=wait]")?;
        browser.press("Enter", 13)?;
        browser.until("a call that waits is answered", &format!("{answers} > {before}"))?;
        if browser.eval(&reached)? == true {
            return Ok(());
        }
    }
    browser.until("it reaches the session", &reached)
}

/// A half-written text stays while news come.
fn drafts(browser: &mut Browser) -> anyhow::Result<()> {
    browser.focus("#text")?;
    browser.type_text("half a sentence")?;
    let post = "fetch('say', {method: 'POST', redirect: 'manual', body: new URLSearchParams({place: 'alice', from: 'alice', text: 'by another page'})}).then(() => true)";
    browser.eval(post)?;
    browser.until("news are shown", &format!("{LAST}.textContent.includes('by another page')"))?;
    let kept = browser.eval("document.activeElement.id + ':' + document.querySelector('#text').value")?;
    ensure!(kept == "text:half a sentence", "the draft is {kept}");
    browser.eval("document.querySelector('#text').value = ''")?;
    Ok(())
}

/// The other places take messages, and a mistake is told.
fn mail_and_group(browser: &mut Browser, url: &str) -> anyhow::Result<()> {
    browser.open(&format!("{url}?place=mail"))?;
    browser.focus("[name=subject]")?;
    browser.type_text(HOSTILE)?;
    browser.focus("#text")?;
    browser.type_text("a mail")?;
    browser.press("Enter", 13)?;
    browser.until(
        "the mail is shown",
        &format!("{LAST}?.querySelector('.subject')?.textContent.includes('EXECUTED')"),
    )?;
    browser.focus("#text")?;
    browser.eval("document.querySelector('[name=subject]').required = false")?;
    browser.type_text("without a subject")?;
    browser.press("Enter", 13)?;
    browser.until(
        "the mistake is told",
        "document.querySelector('#problem').textContent.startsWith('subject:')",
    )?;
    browser.until(
        "what was refused is there again",
        "document.querySelector('#text').value === 'without a subject'",
    )?;
    // The browser itself notes a form that was refused.
    browser.expect_complaint("422")?;
    browser.open(&format!("{url}?place=group"))?;
    browser.eval("document.querySelector('[name=sample]').selectedIndex = 1")?;
    browser.focus("button.main")?;
    browser.press("Enter", 13)?;
    browser.until("the sample is shown", &format!("{LAST}?.textContent.includes('@Agent')"))?;
    behaves(browser)
}

/// Texts whose colour is too near to what they stand on (WCAG 2.1 AA).
const PALE: &str = "(() => {
  const numbers = (colour) => colour.match(/[0-9.]+/g).map(Number);
  const luminance = (colour) => {
    const [r, g, b] = numbers(colour).map(c => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if ((numbers(colour)[3] ?? 1) === 1) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const pale = [];
  for (const e of document.body.querySelectorAll('*')) {
    const says = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!says || !e.checkVisibility() || e.closest('script, noscript')) continue;
    const [light, dark] = [luminance(getComputedStyle(e).color), luminance(ground(e))].sort((a, b) => b - a);
    if ((light + 0.05) / (dark + 0.05) < 4.5) pale.push(e.outerHTML.slice(0, 80));
  }
  return pale;
})()";

/// Light, dark and narrow, with nothing wider than the window and nothing too pale.
fn looks(browser: &mut Browser, url: &str, pictures: Option<&Path>) -> anyhow::Result<()> {
    for (name, width, height, scheme) in [
        ("light", 1440, 1000, "light"),
        ("dark", 1440, 1000, "dark"),
        ("middle", 1000, 1400, "light"),
        ("narrow", 360, 1600, "dark"),
    ] {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        browser.ask("Emulation.setDeviceMetricsOverride", &size)?;
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        browser.ask("Emulation.setEmulatedMedia", &media)?;
        browser.open(url)?;
        browser.until("it is laid out", "document.querySelectorAll('#messages > li').length > 2")?;
        let wide = "[...document.body.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('#places')).map(e => e.outerHTML.slice(0, 80))";
        let wide = format!("document.documentElement.scrollWidth > innerWidth ? {wide} : []");
        let wide = browser.eval(&wide)?;
        ensure!(wide == json!([]), "{name}: too wide for the window: {wide:#}");
        let pale = browser.eval(PALE)?;
        ensure!(pale == json!([]), "{name}: less contrast than 4.5 to 1: {pale:#}");
        if let Some(folder) = pictures {
            let path = folder.join(format!("play-{name}.png"));
            let mut file = std::fs::File::create(&path).with_context(|| format!("{}", path.display()))?;
            std::io::Write::write_all(&mut file, &browser.picture()?)?;
        }
    }
    behaves(browser)
}

/// Reading and writing without scripts.
fn without_scripts(browser: &mut Browser, url: &str) -> anyhow::Result<()> {
    browser.ask("Emulation.setScriptExecutionDisabled", &json!({"value": true}))?;
    browser.open(&format!("{url}?place=bob"))?;
    ensure!(!browser.markup()?.contains("class=\"js\""), "our script ran");
    browser.focus("#text")?;
    browser.type_text("written without scripts")?;
    browser.focus("button.main")?;
    browser.press("Enter", 13)?;
    browser.until(
        "the page comes again",
        "document.querySelector('#messages')?.textContent.includes('written without scripts')",
    )?;
    ensure!(browser.markup()?.contains("Look for news"), "no way to look for news");
    behaves(browser)
}
