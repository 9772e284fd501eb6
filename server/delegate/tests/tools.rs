//! The tools of a project, on a real folder and in the real sandbox.
//!
//! The test is its own program with the hidden command, so it has no harness of its own.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the test looks at the real system and tells of it"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use entraclaw_delegate::store::{Memory, NewTask, Place, Store};
use entraclaw_delegate::tools::{ProjectTools, WorktreeParts, WorktreeTools};
use entraclaw_delegate::{Hint, Patience, Source, Task, TaskId, ToolOutcome, Toolbox};
use entraclaw_models::ToolRequest;
use entraclaw_sandbox::{Sandbox, Surroundings};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value, json};
use tokio::sync::watch;

fn main() -> ExitCode {
    if let Some(code) = entraclaw_sandbox::become_command(std::env::args_os().skip(1)) {
        return code;
    }
    if let Some(folder) = std::env::var_os("WRITE_FOR_EVER") {
        return write_for_ever(Path::new(&folder));
    }
    let mut trials = vec![
        trial("reading shows lines and says what is left", reading),
        trial("writing is whole and keeps the mode", writing),
        trial("an edit needs exactly one place", editing),
        trial("no path leads out", no_way_out),
        trial("protected names are not written", protected_names),
        trial("what is ignored is not found", finding),
        trial("wrong arguments are told in a sentence", wrong_arguments),
        trial("a killed writer leaves no half file", killed_writer),
        trial("each task of a host works in a worktree", worktrees),
        trial("a worktree outlives its engine, and what is left over goes", left_over_worktrees),
    ];
    let program = std::env::current_exe().unwrap();
    let found = runtime().block_on(entraclaw_sandbox::probe(&program));
    if found.is_whole() {
        trials.extend([
            trial("a command runs in the sandbox", commands),
            trial("a stopped command is told as stopped", stopping),
            trial("the project's checker is run", checking),
        ]);
    } else {
        println!("commands are passed over: this system lacks {}", found.missing.join(", "));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial(name: &str, test: fn(&Project)) -> Trial {
    Trial::test(name, move || {
        test(&Project::new());
        Ok::<(), Failed>(())
    })
}

struct Project {
    root: tempfile::TempDir,
    tools: ProjectTools,
    runtime: tokio::runtime::Runtime,
}

impl Project {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["project/src", "outside", "base"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let runtime = runtime();
        let tools = runtime.block_on(tools(&root.path().join("project"), &root.path().join("base")));
        Self { root, tools, runtime }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn run(&self, name: &str, arguments: Value) -> ToolOutcome {
        let (_stop, never) = watch::channel(false);
        self.runtime.block_on(self.tools.run(&request(name, arguments), never))
    }

    #[track_caller]
    fn works(&self, name: &str, arguments: Value) -> String {
        let ended = self.run(name, arguments);
        assert!(ended.succeeded, "{}", ended.text);
        ended.text
    }

    #[track_caller]
    fn fails(&self, name: &str, arguments: Value, why: &str) {
        let ended = self.run(name, arguments);
        assert!(!ended.succeeded && ended.text.contains(why), "{}", ended.text);
    }
}

fn request(name: &str, arguments: Value) -> ToolRequest {
    ToolRequest { id: "1".to_owned(), name: name.to_owned(), arguments }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

async fn tools(project: &Path, base: &Path) -> ProjectTools {
    // Python itself, where a version manager would be found first.
    let asked =
        std::process::Command::new("python3").args(["-c", "import sys; print(sys.base_prefix)"]).output();
    let python =
        asked.map_or(String::new(), |asked| String::from_utf8_lossy(&asked.stdout).trim().to_owned());
    let path = format!("{python}/bin:{}", std::env::var("PATH").unwrap());
    let environment = BTreeMap::from([("PATH".to_owned(), path)]);
    let surroundings = Surroundings { environment, ..Surroundings::default() };
    let mut policy = surroundings.policy(project).unwrap();
    policy.reads.push(python.into());
    let program = std::env::current_exe().unwrap();
    ProjectTools::new(Sandbox::new(policy, &surroundings, &program, base).await.unwrap()).unwrap()
}

fn reading(project: &Project) {
    project.put("project/a", "one\ntwo\nthree\n");
    assert_eq!(project.works("read_file", json!({"path": "a"})), "one\ntwo\nthree\n");
    let part = project.works("read_file", json!({"path": "./a", "offset": 2, "limit": 1}));
    assert_eq!(part, "two\n[lines 2 to 2 of 3; go on with offset 3]");
    let absolute = fs::canonicalize(project.path("project/a")).unwrap();
    let shown = project.run("read_file", json!({"path": absolute})).shown;
    assert_eq!((&shown["path"], &shown["lines"]), (&json!("a"), &json!(3)));
    project.put("project/long", &("x".repeat(100) + "\n").repeat(5000));
    let text = project.works("read_file", json!({"path": "long"}));
    assert!(text.len() <= 32 * 1024 && text.contains(" of 5000; go on with offset "), "{}", text.len());
    fs::write(project.path("project/b"), b"x\0y").unwrap();
    project.fails("read_file", json!({"path": "b"}), "not text");
    project.put("project/largest", &"x\n".repeat(4 * 1024 * 1024));
    assert!(project.works("read_file", json!({"path": "largest", "limit": 1})).starts_with("x\n"));
    project.put("project/larger", &("x\n".repeat(4 * 1024 * 1024) + "x"));
    project.fails("read_file", json!({"path": "larger"}), "larger than 8388608 bytes; look at a part of it");
    project.fails("read_file", json!({"path": "c"}), "not there; look with glob");
    project.fails("read_file", json!({"path": "src"}), "not a file");
    project.fails("read_file", json!({"path": "a", "offset": 9}), "has 3 lines");
}

fn writing(project: &Project) {
    let ended = project.run("write_file", json!({"path": "new/deep/a.sh", "content": "one\ntwo\n"}));
    assert_eq!((&ended.shown["path"], &ended.shown["lines"]), (&json!("new/deep/a.sh"), &json!(2)));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let path = project.path("project/new/deep/a.sh");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        project.works("write_file", json!({"path": "new/deep/a.sh", "content": "three\n"}));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
    }
    let listed = fs::read_dir(project.path("project/new/deep")).unwrap().flatten();
    assert_eq!(listed.map(|entry| entry.file_name()).collect::<Vec<_>>(), ["a.sh"]);
    project.fails("write_file", json!({"path": "src", "content": ""}), "not a file");
    let longest = "x".repeat(4 * 1024 * 1024);
    project.works("write_file", json!({"path": "long", "content": longest}));
    let longer = json!({"path": "long", "content": longest + "x"});
    project.fails("write_file", longer, "larger than 4194304 bytes; write less");
}

fn editing(project: &Project) {
    project.put("project/a", "one\r\ntwo\r\none\r\n");
    let ended =
        project.run("edit_file", json!({"path": "a", "old_string": "two\none", "new_string": "2\n1"}));
    assert!(
        ended.succeeded && ended.text.contains("2 -two") && ended.text.contains("2 +2"),
        "{}",
        ended.text
    );
    assert_eq!((project.text("project/a").as_str(), &ended.shown["lines"]), ("one\r\n2\r\n1\r\n", &json!(4)));
    project.works("edit_file", json!({"path": "a", "old_string": "one\r\n2", "new_string": "1\r\n2"}));
    assert_eq!(project.text("project/a"), "1\r\n2\r\n1\r\n");
    project.put("project/a", "one\ntwo\none\n");
    project.fails(
        "edit_file",
        json!({"path": "a", "old_string": "one", "new_string": "1"}),
        "occurs 2 times",
    );
    project.fails(
        "edit_file",
        json!({"path": "a", "old_string": "four", "new_string": "4"}),
        "does not occur",
    );
    project.fails("edit_file", json!({"path": "a", "old_string": "", "new_string": "4"}), "empty");
    assert_eq!(project.text("project/a"), "one\ntwo\none\n");
}

fn no_way_out(project: &Project) {
    project.put("outside/secret", "TOP-SECRET");
    let absolute = fs::canonicalize(project.path("outside/secret")).unwrap();
    #[cfg_attr(not(unix), expect(unused_mut, reason = "links are made on Unix only"))]
    let mut paths = vec![json!("../outside/secret"), json!("src/../../outside/secret"), json!(absolute)];
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink("../outside/secret", project.path("project/link")).unwrap();
        symlink("../outside", project.path("project/folder")).unwrap();
        symlink(&absolute, project.path("project/absolute")).unwrap();
        symlink("../outside/new", project.path("project/nowhere")).unwrap();
        symlink("/proc/self/root", project.path("project/root")).unwrap();
        let by_root = format!("root{}", absolute.display());
        paths.extend([json!("link"), json!("folder/secret"), json!("absolute"), json!(by_root)]);
        for path in ["nowhere", "folder/new", "folder/deep/new"] {
            project.fails("write_file", json!({"path": path, "content": "x"}), "");
        }
    }
    for path in paths {
        for (tool, arguments) in [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("edit_file", json!({"path": path, "old_string": "TOP", "new_string": "x"})),
        ] {
            let ended = project.run(tool, arguments);
            assert!(!ended.succeeded && !ended.text.contains("TOP-SECRET"), "{tool} {path}: {}", ended.text);
        }
        let listed = project.run("grep", json!({"pattern": "SECRET", "path": path}));
        assert!(!listed.text.contains("TOP-SECRET"), "{path}: {}", listed.text);
    }
    let found = project.run("glob", json!({"pattern": "**/secret"}));
    assert!(!found.text.contains("folder/"), "{}", found.text);
    assert_eq!(project.text("outside/secret"), "TOP-SECRET");
    assert_eq!(fs::read_dir(project.path("outside")).unwrap().count(), 1);
}

fn protected_names(project: &Project) {
    fs::create_dir_all(project.path("project/.git/hooks")).unwrap();
    for path in [
        ".git/hooks/pre-commit",
        ".envrc",
        "src/.ENVRC",
        ".vscode/tasks.json",
        ".git/config",
        "a/.git/config",
    ] {
        project.fails("write_file", json!({"path": path, "content": "x"}), "protected");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(".git", project.path("project/harmless")).unwrap();
        project.fails(
            "write_file",
            json!({"path": "harmless/hooks/pre-commit", "content": "x"}),
            "protected",
        );
    }
    assert_eq!(fs::read_dir(project.path("project/.git/hooks")).unwrap().count(), 0);
    assert!(!project.path("project/.vscode").exists() && !project.path("project/a").exists());
}

fn finding(project: &Project) {
    project.put("project/.gitignore", "target\n*.log\n");
    fs::create_dir_all(project.path("project/target")).unwrap();
    for file in ["project/src/a.rs", "project/src/b.rs", "project/target/c.rs", "project/a.log"] {
        project.put(file, "fn main() {}\nlet Needle = 1;\n");
    }
    assert_eq!(project.works("glob", json!({"pattern": "**/*.rs"})), "src/a.rs\nsrc/b.rs");
    assert_eq!(project.works("glob", json!({"pattern": "a.*", "path": "src"})), "src/a.rs");
    assert_eq!(project.works("glob", json!({"pattern": "*.py"})), "no file matches *.py");
    let found = project.works("grep", json!({"pattern": "needle", "ignore_case": true}));
    assert_eq!(found, "src/a.rs:2: let Needle = 1;\nsrc/b.rs:2: let Needle = 1;");
    assert_eq!(
        project.works("grep", json!({"pattern": "Needle", "glob": "a.*"})),
        "src/a.rs:2: let Needle = 1;"
    );
    assert_eq!(
        project.works("grep", json!({"pattern": "main", "path": "src/b.rs"})),
        "src/b.rs:1: fn main() {}"
    );
    project.put("project/many", &"x\n".repeat(500));
    let many = project.works("grep", json!({"pattern": "^x$"}));
    assert!(many.ends_with("[there are more than 200; narrow the pattern]"), "{many}");
    project.fails("grep", json!({"pattern": "("}), "the pattern is wrong");
    let largest = 2 * 1024 * 1024;
    project.put("project/large", &format!("thread\n{}", "y".repeat(largest - 7)));
    project.put("project/larger", &format!("thread\n{}", "y".repeat(largest - 6)));
    assert_eq!(project.works("grep", json!({"pattern": "thread"})), "large:1: thread");
}

fn wrong_arguments(project: &Project) {
    project.fails("read_file", json!({}), "the arguments of read_file are wrong: missing field `path`");
    project.fails("read_file", json!("a"), "the arguments of read_file are wrong");
    project.fails("delete", json!({}), "there is no tool \"delete\"; use one of read_file, ");
    let tools = project.tools.tools();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["read_file", "write_file", "edit_file", "bash", "glob", "grep", "lsp_diagnostics"]);
    assert_eq!(project.tools.patience("bash"), Patience::Stop);
    assert_eq!(project.tools.patience("write_file"), Patience::Wait);
}

/// Writes two texts in turn until it is killed.
fn write_for_ever(project: &Path) -> ExitCode {
    runtime().block_on(async {
        let tools = tools(project, &project.with_file_name("base")).await;
        let (_stop, never) = watch::channel(false);
        for letter in ["a", "b"].into_iter().cycle() {
            let asked = request("write_file", json!({"path": "file", "content": letter.repeat(1 << 20)}));
            assert!(tools.run(&asked, never.clone()).await.succeeded);
        }
        ExitCode::FAILURE
    })
}

/// What is in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

fn killed_writer(project: &Project) {
    for round in 0..20 {
        let mut writer = std::process::Command::new(std::env::current_exe().unwrap())
            .env("WRITE_FOR_EVER", project.path("project"))
            .spawn()
            .unwrap();
        while !project.path("project/file").exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(round * 7 % 40));
        writer.kill().unwrap();
        writer.wait().unwrap();
        let asked = request("write_file", json!({"path": "file", "content": "a"}));
        project.tools.cut_short(&task(1, Source::host("codex")), &asked);
        assert_eq!(names(&project.path("project")), ["file", "src"]);
        let text = fs::read(project.path("project/file")).unwrap();
        assert!(text.len() == 1 << 20 && text.iter().all(|byte| *byte == text[0]), "round {round}");
        fs::remove_file(project.path("project/file")).unwrap();
    }
}

fn commands(project: &Project) {
    let script = "echo out; echo err >&2; exit 3";
    let ended = project.run("bash", json!({"command": script}));
    assert_eq!(ended.text, "out\nerr\n[exit code 3]");
    assert_eq!((&ended.shown["command"], &ended.shown["exit_code"]), (&json!(script), &json!(3)));
    assert!(!ended.succeeded && !ended.was_stopped);
    assert_eq!(project.works("bash", json!({"command": "echo x > file"})), "[exit code 0]");
    assert_eq!(project.text("project/file"), "x\n");
    let refused = project.run("bash", json!({"command": "echo x > ../outside/file"}));
    assert!(refused.text.contains("1 lines tell of a refusal"), "{}", refused.text);
    assert!(!project.path("outside/file").exists());
    let taken = project.works("bash", json!({"command": "echo x > .envrc"}));
    assert!(taken.contains(".envrc was taken away"), "{taken}");
    let long = project.works("bash", json!({"command": "seq 100000"}));
    assert!(long.len() < 33 * 1024 && long.contains("bytes left out here"), "{}", long.len());
    assert_eq!(project.tools.needs_approval(&request("bash", json!({}))), None);
}

fn stopping(project: &Project) {
    let (stop, stopped) = watch::channel(false);
    let asked = request("bash", json!({"command": "echo x > begun; sleep 300"}));
    let begun = project.path("project/begun");
    let ended = project.runtime.block_on(async {
        let stopping = async {
            while !begun.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            stop.send(true).unwrap();
        };
        tokio::join!(project.tools.run(&asked, stopped), stopping).0
    });
    assert!(ended.was_stopped && !ended.succeeded, "{}", ended.text);
}

fn checking(project: &Project) {
    project.fails("lsp_diagnostics", json!({}), "no checker is known for this");
    project.put("project/a.py", "def f(:\n    pass\n");
    project.put("project/b.py", "x = 1\n");
    let ended = project.run("lsp_diagnostics", json!({"path": "a.py"}));
    assert!(ended.text.contains("a.py:1: ") && ended.succeeded, "{}", ended.text);
    assert!(!ended.shown["command"].as_str().unwrap().is_empty());
    let clean = project.works("lsp_diagnostics", json!({"path": "b.py"}));
    assert!(clean.contains("nothing found"), "{clean}");
    project.fails("lsp_diagnostics", json!({"path": "c.py"}), "not there");
}

fn git(folder: &Path, words: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    command.arg("-C").arg(folder).args(["-c", "user.name=Alice", "-c", "user.email=alice@contoso.com"]);
    let output = command.args(words).output().unwrap();
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn in_git(project: &Project) {
    let folder = project.path("project");
    project.put("project/README", "one\n");
    for words in [&["init", "--quiet"][..], &["add", "--all"], &["commit", "--quiet", "-m", "begin"]] {
        git(&folder, words);
    }
    fs::create_dir_all(project.path("trees")).unwrap();
}

fn with_worktrees(project: &Project) -> WorktreeTools {
    let parts = WorktreeParts {
        project: project.path("project"),
        base: project.path("trees"),
        surroundings: Surroundings::default(),
        program: std::env::current_exe().unwrap(),
        sandbox: project.path("base"),
    };
    project.runtime.block_on(async {
        let policy = parts.surroundings.policy(&parts.project).unwrap();
        let inner = tools(&parts.project, &parts.sandbox).await;
        WorktreeTools::new(inner, policy, parts).await.unwrap()
    })
}

fn task(bits: u64, source: Source) -> Task {
    let mut store = Store::open(&Place::Memory(Memory::default())).unwrap();
    let (id, message) = (TaskId::of(bits), "do it".to_owned());
    let new = NewTask { id, source, message, context: Vec::new(), hint: Hint::General, consumer: None };
    store.add_task(&new, 1).unwrap()
}

fn run_for(
    project: &Project,
    tools: &WorktreeTools,
    task: &Task,
    name: &str,
    arguments: Value,
) -> ToolOutcome {
    let (_stop, never) = watch::channel(false);
    project.runtime.block_on(tools.run_for(task, &request(name, arguments), never))
}

fn worktrees(project: &Project) {
    in_git(project);
    let folder = project.path("project");
    let tools = with_worktrees(project);
    let (one, other) = (task(1, Source::host("codex")), task(2, Source::host("codex")));
    let person = task(3, Source::You);
    // An absolute path in the project is meant in the worktree.
    let path = folder.join("README").display().to_string();
    for (of, text) in [(&one, "one of a\n"), (&other, "one of b\n")] {
        let ended = run_for(project, &tools, of, "write_file", json!({"path": path, "content": text}));
        assert!(ended.succeeded, "{}", ended.text);
    }
    let read = run_for(project, &tools, &one, "read_file", json!({"path": "README"}));
    assert!(read.text.contains("one of a"), "{}", read.text);
    assert_eq!(project.text("project/README"), "one\n");
    assert_eq!(git(&folder, &["status", "--porcelain"]), "");
    let mine = run_for(project, &tools, &person, "write_file", json!({"path": "mine", "content": "x\n"}));
    assert!(mine.succeeded && !tools.reports(&person) && tools.reports(&one));
    assert_eq!(project.text("project/mine"), "x\n");

    let report = project.runtime.block_on(tools.report(&one.id)).unwrap();
    let branch = format!("entraclaw/{}", one.id);
    assert!(
        report.contains(&branch) && report.contains("README") && report.contains("Changed 1 file"),
        "{report}"
    );
    assert_eq!(project.runtime.block_on(tools.report(&one.id)).unwrap(), report, "it may be asked again");
    project.runtime.block_on(async {
        tools.ended(&one.id);
        tools.ended(&other.id);
    });
    for task in [&one, &other] {
        let tree = project.path("trees").join(format!("worktree-{}", task.id));
        project.runtime.block_on(async {
            for _ in 0..500 {
                if !tree.exists() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        assert!(!tree.exists(), "{} is still there", tree.display());
    }
    assert_eq!(git(&folder, &["show", &format!("{branch}:README")]), "one of a");
    assert_eq!(git(&folder, &["show", &format!("entraclaw/{}:README", other.id)]), "one of b");
    assert_eq!(git(&folder, &["rev-list", "--count", "HEAD"]), "1", "nothing is merged");
    assert_eq!(git(&folder, &["worktree", "list"]).lines().count(), 1);
}

fn left_over_worktrees(project: &Project) {
    in_git(project);
    let folder = project.path("project");
    let (open, lost, idle) =
        (task(1, Source::host("codex")), task(2, Source::host("codex")), task(4, Source::host("codex")));
    let tree = |task: &Task| project.path("trees").join(format!("worktree-{}", task.id));
    {
        let tools = with_worktrees(project);
        for of in [&open, &lost] {
            run_for(project, &tools, of, "write_file", json!({"path": "new", "content": "y\n"}));
        }
        run_for(project, &tools, &idle, "read_file", json!({"path": "README"}));
    }
    // The process died in the middle of a commit.
    let lock = git(&tree(&open), &["rev-parse", "--path-format=absolute", "--git-path", "index.lock"]);
    fs::write(lock, "").unwrap();
    // It also died while it made another worktree.
    let half = task(5, Source::host("codex"));
    let shown = tree(&half).display().to_string();
    git(&folder, &["worktree", "add", "--quiet", "-b", &format!("entraclaw/{}", half.id), "--", &shown]);
    let tools = with_worktrees(project);
    project.runtime.block_on(async {
        tools.begins(std::slice::from_ref(&open.id));
        for _ in 0..500 {
            if !tree(&lost).exists() && !tree(&idle).exists() && !tree(&half).exists() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    assert!(tree(&open).exists() && !tree(&lost).exists() && !tree(&idle).exists() && !tree(&half).exists());
    assert_eq!(git(&folder, &["show", &format!("entraclaw/{}:new", lost.id)]), "y", "nothing is lost");
    let branches = git(&folder, &["branch", "--list", "entraclaw/*"]);
    assert!(!branches.contains(&idle.id.0), "nothing was changed there: {branches}");
    // It died between a file and its name, too.
    fs::write(tree(&open).join(".entraclaw-new"), "y\n").unwrap();
    tools.cut_short(&open, &request("edit_file", json!({"path": "new"})));
    // The open one goes on in the same worktree.
    let read = run_for(project, &tools, &open, "read_file", json!({"path": "new"}));
    assert!(read.text.contains('y'), "{}", read.text);
    let report = project.runtime.block_on(tools.report(&open.id)).unwrap();
    assert!(report.contains("Changed 1 file"), "{report}");
}
