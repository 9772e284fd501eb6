//! What a command can do in the sandbox, and how it ends.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::world::{PROGRAM, World};
use entraclaw_sandbox::{
    Approval, Cause, CommandLine, Ended, Policy, Sandbox, SandboxError, Surroundings, Worktree,
};
use tokio::sync::watch;

fn bash(world: &World, script: &str) -> CommandLine {
    CommandLine::new(["bash", "-c", script], world.project())
}

async fn run(world: &World, script: &str) -> Ended {
    world.sandbox().run(&bash(world, script), Approval::None, world.never()).await.unwrap()
}

async fn succeeds(world: &World, script: &str) {
    let ended = run(world, script).await;
    assert_eq!(ended.exit_code, Some(0), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ordinary_work_is_done() {
    let Some(world) = World::new().await else { return };
    let interpreter = crate::world::python();
    for script in [
        "mkdir -p a/b && echo x > a/b/c && mv a/b/c a/d && ln a/d a/e && ln -s d a/f && chmod +x a/d && rm -r a",
        "echo x > $TMPDIR/x && echo x > ~/x && cat ~/x $TMPDIR/x",
        "cat <(echo x) | grep -q x && echo x > /dev/null",
        "git -c user.name=a -c user.email=a@contoso.com commit -q --allow-empty -m x && git log -1 --format=%s | grep -qx x",
        "(sleep 0.05; echo x) & wait",
        "test $(cat /proc/self/comm) = cat && test $(ls -d /proc/[0-9]* | wc -l) -lt 8",
        &format!(
            "{interpreter} -c 'import multiprocessing, socket; multiprocessing.Lock(); socket.socketpair(); print(1)'"
        ),
    ] {
        let ended = run(&world, script).await;
        assert_eq!(
            (ended.cause, ended.exit_code),
            (Cause::Exited, Some(0)),
            "{script}: {}",
            ended.stderr.text()
        );
    }
    assert_eq!(run(&world, "exit 7").await.exit_code, Some(7));
    assert_eq!(run(&world, "exit 120").await.exit_code, Some(120));
    assert_eq!(run(&world, "kill -9 $$").await.signal, Some(9));
    let missing = CommandLine::new(["no-such-program"], world.project());
    let ended = world.sandbox().run(&missing, Approval::None, world.never()).await.unwrap();
    assert!(matches!(ended.cause, Cause::NotStarted(_)), "{:?}", ended.cause);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_is_recorded() {
    let Some(world) = World::new().await else { return };
    let ended = run(&world, "echo x > /etc/escaped; mkdir sub && echo x > sub/.envrc").await;
    let refused = ended.refused.unwrap();
    assert!(refused.lines[0].contains("/etc/escaped"), "{refused:?}");
    assert_eq!(refused.taken_away, [Path::new("sub/.envrc")]);
    assert!(run(&world, "true").await.refused.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_command_is_gone_with_all_its_processes() {
    let Some(world) = World::new().await else { return };
    let (stop, stopped) = watch::channel(false);
    let command = bash(&world, "setsid sleep 300 & echo x > begun; sleep 300");
    let (ended, ()) = tokio::join!(world.sandbox().run(&command, Approval::None, stopped), async {
        while !world.path("project/begun").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        stop.send(true).unwrap();
    });
    assert_eq!(ended.unwrap().cause, Cause::Stopped);
    assert_eq!(world.processes(), [""; 0]);
    assert_eq!(run(&world, "echo x > ~/y").await.exit_code, Some(0), "the private folder stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_command_is_gone() {
    let Some(world) = World::new().await else { return };
    let command = bash(&world, "echo x > begun; sleep 300");
    let begun = async {
        while !world.path("project/begun").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        ended = world.sandbox().run(&command, Approval::None, world.never()) => panic!("{ended:?}"),
        () = begun => {}
    }
    assert!(gone(&world).await, "{:?}", world.processes());
}

/// Waits until no process of the world is left.
async fn gone(world: &World) -> bool {
    for _ in 0..500 {
        if world.processes().is_empty() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_parent_leaves_no_process_and_no_private_folder() {
    let Some(world) = World::new().await else { return };
    let mut parent = Command::new(std::env::current_exe().unwrap());
    parent.args(["--exact", "commands::as_a_parent", "--nocapture"]).env("AS_A_PARENT", world.project());
    let mut parent = parent.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !world.path("project/begun").exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!world.processes().is_empty());
    parent.kill().unwrap();
    parent.wait().unwrap();
    assert!(gone(&world).await, "{:?}", world.processes());
    let private = || {
        let listed = world.path("base").read_dir().unwrap().flatten();
        listed.filter(|entry| entry.path().join("home/marked").exists()).count()
    };
    for _ in 0..500 {
        if private() == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the private folder is still there");
}

/// The parent of the test above; by itself it does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn as_a_parent() {
    let Some(project) = std::env::var_os("AS_A_PARENT") else { return };
    let project = Path::new(&project);
    let environment = std::env::vars().filter(|(name, _)| name == "PATH").collect();
    let surroundings = Surroundings { environment, ..Surroundings::default() };
    let policy = surroundings.policy(project).unwrap();
    let sandbox = Sandbox::new(policy, &surroundings, Path::new(PROGRAM), &project.with_file_name("base"))
        .await
        .unwrap();
    let command = CommandLine::new(
        ["bash", "-c", "echo x > ~/marked; (setsid sleep 300 &); echo x > begun; sleep 300"],
        project,
    );
    let (_stop, never) = watch::channel(false);
    sandbox.run(&command, Approval::None, never).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_warden_takes_everything_with_it() {
    let Some(world) = World::new().await else { return };
    let command = bash(&world, "setsid sleep 300 & echo x > begun; sleep 300");
    let (ended, ()) = tokio::join!(world.sandbox().run(&command, Approval::None, world.never()), async {
        while !world.path("project/begun").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let mine = format!("PPid:\t{}\n", std::process::id());
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let text = |name: &str| std::fs::read_to_string(entry.path().join(name)).unwrap_or_default();
            if text("cmdline").contains("sandboxed-command\0warden") && text("status").contains(&mine) {
                let pid = entry.file_name().to_string_lossy().parse().unwrap();
                nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL)
                    .unwrap();
            }
        }
    });
    assert_eq!(ended.unwrap().cause, Cause::Lost);
    assert!(gone(&world).await, "{:?}", world.processes());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_that_was_swapped_is_noticed() {
    let Some(world) = World::new().await else { return };
    let policy = Policy { writes: vec![world.path("project/swapped")], ..world.sandbox().policy().clone() };
    std::fs::create_dir(world.path("project/swapped")).unwrap();
    let surroundings = Surroundings::default();
    let sandbox = Sandbox::new(policy, &surroundings, Path::new(PROGRAM), &world.path("base")).await.unwrap();
    let swap = |from: &str, to: &str| {
        std::fs::rename(world.path(from), world.path("project/aside")).unwrap();
        std::os::unix::fs::symlink(world.path(to), world.path(from)).unwrap();
    };
    swap("project/swapped", "outside");
    let command = CommandLine::new(["/bin/sh", "-c", "echo x > new"], world.path("project/aside"));
    // A path that leads elsewhere now is resolved anew for each command, so it must not be granted under its old name.
    let ended = sandbox.run(&command, Approval::None, world.never()).await;
    assert!(ended.is_err() || !world.path("outside/new").exists(), "{ended:?}");
    assert!(matches!(ended, Err(SandboxError::Folder { .. })), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_sandbox_nothing_runs_unasked() {
    let Some(world) = World::new().await else { return };
    let policy = world.sandbox().policy().clone();
    // `/bin/false` knows no hidden command, so nothing can be enforced by it.
    let sandbox =
        Sandbox::new(policy, &Surroundings::default(), Path::new("/bin/false"), &world.path("base"))
            .await
            .unwrap();
    let ended = sandbox.run(&bash(&world, "echo x > ran"), Approval::None, world.never()).await;
    assert!(
        matches!(ended, Err(SandboxError::Unenforced { ref missing }) if missing.len() == 3),
        "{ended:?}"
    );
    assert!(!world.path("project/ran").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn homes_and_secrets_are_no_projects() {
    let Some(world) = World::new().await else { return };
    let surroundings = Surroundings { home: Some(world.path("home")), ..Surroundings::default() };
    for folder in ["home", "home/.ssh", ""] {
        let policy = surroundings.policy(&world.path(folder));
        assert!(matches!(policy, Err(SandboxError::Folder { .. })), "{folder}: {policy:?}");
    }
    assert!(surroundings.policy(Path::new("/usr/lib")).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_can_have_worktrees_from_its_first_commit_on() {
    let Some(world) = World::new().await else { return };
    let refused = Worktree::is_possible(&world.project()).await;
    assert!(matches!(refused, Err(SandboxError::Git { .. })), "{refused:?}");
    // A developer's own settings may sign each commit.
    let commit = "git add README && git -c user.name=a -c user.email=a@contoso.com -c commit.gpgsign=false commit -qm x";
    let made = Command::new("bash").args(["-c", commit]).current_dir(world.project()).status().unwrap();
    assert!(made.success());
    Worktree::is_possible(&world.project()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worktree_ends_as_a_branch() {
    let Some(world) = World::new().await else { return };
    succeeds(&world, "git add README && git -c user.name=a -c user.email=a@contoso.com commit -qm x").await;
    std::fs::write(world.path("project/.git/hooks/post-commit"), "#!/bin/sh\necho x > ../hooked\n").unwrap();
    let tree = Worktree::new(&world.project(), "t1", &world.path("base")).await.unwrap();
    let policy = Policy { writes: vec![tree.folder().to_owned()], ..world.sandbox().policy().clone() };
    let surroundings = Surroundings {
        environment: std::env::vars().filter(|(name, _)| name == "PATH").collect(),
        ..Surroundings::default()
    };
    let sandbox = Sandbox::new(policy, &surroundings, Path::new(PROGRAM), &world.path("base")).await.unwrap();
    let script = "echo y >> README; echo z > new; echo x > .git; echo x > ../../project/README; true";
    let command = CommandLine::new(["bash", "-c", script], tree.folder());
    sandbox.run(&command, Approval::None, world.never()).await.unwrap();
    let report = tree.report().await.unwrap();
    assert_eq!((report.branch.as_str(), report.files), ("entraclaw/t1", 2));
    assert!(report.statistic.contains("new") && report.statistic.contains("README"), "{}", report.statistic);
    tree.remove().await.unwrap();
    assert_eq!(std::fs::read_to_string(world.path("project/README")).unwrap(), "x");
    assert!(!world.path("hooked").exists() && !world.path("base/hooked").exists());
    succeeds(&world, "git show entraclaw/t1:new | grep -qx z").await;
}

/// A command can't leave a repository behind, but one that outlived its killed engine may have.
#[tokio::test(flavor = "multi_thread")]
async fn git_acts_on_no_repository_inside_a_worktree() {
    let Some(world) = World::new().await else { return };
    let commit = "git add README && git -c user.name=a -c user.email=a@contoso.com commit -qm x";
    succeeds(&world, commit).await;
    let tree = Worktree::new(&world.project(), "t1", &world.path("base")).await.unwrap();
    let ran = world.path("ran");
    let script = format!(
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@contoso.com GIT_COMMITTER_NAME=a \
         GIT_COMMITTER_EMAIL=a@contoso.com; git init -q sub && cd sub && \
         echo 'g filter=e' > .gitattributes && echo hi > g && git add . && git commit -qm s && \
         git config filter.e.clean 'touch {}; cat' && cd .. && git add --all && git commit -qm t && echo ho > sub/g",
        ran.display()
    );
    let made = Command::new("bash").args(["-c", &script]).current_dir(tree.folder()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let refused = tree.report().await.unwrap_err().to_string();
    assert!(refused.contains("sub/.git: git would act on the configuration"), "{refused}");
    assert!(!ran.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_network_is_there_if_it_is_allowed() {
    let Some(world) = World::new().await else { return };
    let policy = Policy { network: true, ..world.sandbox().policy().clone() };
    let environment = std::env::vars().filter(|(name, _)| name == "PATH").collect();
    let surroundings = Surroundings { environment, ..Surroundings::default() };
    let sandbox = Sandbox::new(policy, &surroundings, Path::new(PROGRAM), &world.path("base")).await.unwrap();
    let mut command = bash(&world, "exec 3<>/dev/tcp/127.0.0.1/$TCP && echo reached");
    command.environment = world.variables();
    let ended = sandbox.run(&command, Approval::None, world.never()).await.unwrap();
    assert_eq!(ended.stdout.text(), "reached\n", "{}", ended.stderr.text());
}
