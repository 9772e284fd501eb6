//! Ways out of the sandbox, each tried by a real program: all are refused, and none leaves anything.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::world::{World, python};
use entraclaw_sandbox::{Approval, Cause, CommandLine};

/// How a way is tried.
#[derive(Clone, Copy)]
enum By {
    /// A script of bash.
    Bash,
    /// A script of Python, which can make any system call: `call(number, …)` says `ESCAPED` if one works.
    Python,
}

/// What must become of a way, beside that nothing is left.
#[derive(Clone, Copy)]
enum Then {
    /// It goes on by itself, without having got out.
    Refused,
    /// The sandbox ends it.
    Ended(fn(&Cause) -> bool),
}
use By::{Bash, Python};
use Then::{Ended, Refused};

struct Way {
    name: &'static str,
    by: By,
    script: String,
    then: Then,
}

fn way(name: &'static str, by: By, script: impl Into<String>) -> Way {
    Way { name, by, script: script.into(), then: Refused }
}

fn files() -> Vec<Way> {
    vec![
        way("write beside the project", Bash, "echo x > $OUT/new && echo ESCAPED"),
        way("write by a path with dots", Bash, "echo x > ../outside/new && echo ESCAPED"),
        way("append to a file outside", Bash, "echo x >> $OUT/file && echo ESCAPED"),
        way("truncate a file outside", Python, "os.truncate(OUT + '/file', 0); print('ESCAPED')"),
        way("remove a file outside", Bash, "rm -f $OUT/file && echo ESCAPED"),
        way("make a folder outside", Bash, "mkdir $OUT/folder && echo ESCAPED"),
        way("move the project's file out", Bash, "echo x > a; mv a $OUT/a && echo ESCAPED"),
        way("move a file from outside in", Bash, "mv $OUT/file . && echo ESCAPED"),
        way(
            "write through a symlink",
            Bash,
            "ln -s $OUT/file link; echo x > link && echo ESCAPED; rm -f link",
        ),
        way(
            "read through a symlink",
            Bash,
            "ln -s $VICTIM/.ssh/id link; cat link && echo ESCAPED; rm -f link",
        ),
        way(
            "read through a symlinked folder",
            Bash,
            "ln -s $VICTIM/.ssh link; cat link/id && echo ESCAPED; rm -f link",
        ),
        way("hard link to a secret", Bash, "ln $VICTIM/.ssh/id hard && cat hard && echo ESCAPED"),
        way("hard link of a program out", Bash, "echo x > a; ln a $OUT/hard && echo ESCAPED"),
        way("read a key of ssh", Bash, "cat $VICTIM/.ssh/id && echo ESCAPED"),
        way("read credentials of a cloud", Bash, "cat $VICTIM/.aws/credentials && echo ESCAPED"),
        way("list the home folder", Bash, "ls -A $VICTIM && echo ESCAPED"),
        way("read another agent's home", Bash, "cat $VICTIM/.claude/token && echo ESCAPED"),
        way("read /etc/shadow", Bash, "cat /etc/shadow && echo ESCAPED"),
        way("change a mode outside", Bash, "chmod 777 $OUT/file && echo ESCAPED"),
        way("change times outside", Bash, "touch -d 2001-01-01 $OUT/file && echo ESCAPED"),
        way(
            "change an attribute outside",
            Python,
            "os.setxattr(OUT + '/file', 'user.x', b'x'); print('ESCAPED')",
        ),
        way("change an owner outside", Bash, "chown 12345 $OUT/file && echo ESCAPED"),
        way(
            "swap a folder for a symlink while writing",
            Python,
            "import threading, shutil\nos.mkdir('race')\nend = False\ndef swap():\n  while not end:\n    try:\n      os.rename('race', 'kept'); \
             os.symlink(OUT, 'race'); os.unlink('race'); os.rename('kept', 'race')\n    except OSError: pass\n\
             t = threading.Thread(target=swap); t.start()\nfor n in range(20000):\n  try:\n    \
             open('race/raced', 'w').close()\n    if os.path.exists(OUT + '/raced'): print('ESCAPED')\n  except OSError: pass\n\
             end = True; t.join()\nfor f in ('race', 'kept'): shutil.rmtree(f, ignore_errors=True)",
        ),
        way("make a pipe with a name", Bash, "mkfifo pipe && echo ESCAPED"),
        way(
            "make a device",
            Python,
            "import stat\nos.mknod('device', 0o600 | stat.S_IFCHR, os.makedev(1, 1)); print('ESCAPED')",
        ),
        way(
            "open the disk",
            Python,
            "[print('ESCAPED') for d in os.listdir('/dev') if d.startswith(('vd', 'sd', 'nvme', 'mem')) and os.open('/dev/' + d, os.O_RDONLY)]",
        ),
        way(
            "open a file by its handle",
            Python,
            format!("call({}, -100, b'/', 0)", libc::SYS_open_by_handle_at),
        ),
        way("change the file system's root", Python, "os.chroot('.'); print('ESCAPED')"),
        way("write the program of the sandbox", Bash, "cp /bin/true $PROGRAM && echo ESCAPED"),
        way("write a library of the system", Bash, "echo x > /usr/lib/escaped && echo ESCAPED"),
        way(
            "schedule a job",
            Bash,
            "echo '* * * * * true' > /var/spool/cron/crontabs/escaped && echo ESCAPED",
        ),
        way("write a start file of the shell", Bash, "echo x >> $VICTIM/.bashrc && echo ESCAPED"),
    ]
}

fn protected() -> Vec<Way> {
    vec![
        way("write a git hook", Bash, "echo x > .git/hooks/pre-commit && echo ESCAPED"),
        way(
            "move a file to a git hook",
            Bash,
            "echo x > a; mv a .git/hooks/pre-commit && echo ESCAPED; rm -f a",
        ),
        way("set a configuration of git", Bash, "git config core.fsmonitor /tmp/x && echo ESCAPED"),
        way("move the repository away", Bash, "mv .git .git2 && echo ESCAPED"),
        way(
            "mount over a hook",
            Python,
            "libc.mount(b'.', b'.git/hooks', None, 4096, None) == 0 and print('ESCAPED')",
        ),
        way("write an .envrc", Bash, "echo x > .envrc; true"),
        way("change settings of an editor", Bash, "echo x > .vscode/tasks.json && echo ESCAPED"),
        way("replace settings of an editor", Bash, "rm -rf .vscode && echo ESCAPED"),
        way(
            "a nested repository with a configuration",
            Bash,
            "mkdir -p sub/.git && echo x > sub/.git/config; true",
        ),
        way(
            "a rebase with a command",
            Bash,
            "mkdir .git/rebase-merge && echo 'exec x' > .git/rebase-merge/git-rebase-todo; true",
        ),
        way(
            "move a protected folder by its parent",
            Bash,
            "mv editor moved; mkdir -p editor/.idea; echo x > editor/.idea/a; mv moved/.idea moved/x && echo ESCAPED; rm -rf editor/.idea; rmdir editor; mv moved editor",
        ),
    ]
}

fn processes() -> Vec<Way> {
    vec![
        way("read the parent's environment", Bash, "cat /proc/$PARENT/environ && echo ESCAPED"),
        way(
            "see the parent's command line",
            Bash,
            "cat /proc/$PARENT/cmdline | tr '\\0' ' ' | grep escape && echo ESCAPED",
        ),
        way("the root of another process", Bash, "cat /proc/1/root$VICTIM/.ssh/id && echo ESCAPED"),
        way("its own root by /proc", Bash, "cat /proc/self/root$VICTIM/.ssh/id && echo ESCAPED"),
        way("the working folder of the first process", Bash, "ls /proc/1/cwd/../outside && echo ESCAPED"),
        way("the memory of the first process", Python, "open('/proc/1/mem', 'rb').read(1); print('ESCAPED')"),
        way(
            "the descriptors of the first process",
            Bash,
            "for f in /proc/1/fd/*; do [ -r $f ] && [ $(basename $f) -gt 2 ] && cat $f && echo ESCAPED; done",
        ),
        way("where a descriptor of the first process leads", Bash, "readlink /proc/1/fd/1 && echo ESCAPED"),
        way("a signal to the parent", Bash, "kill -9 $PARENT && echo ESCAPED"),
        way(
            "a signal to everybody",
            Python,
            "import signal\nsignal.signal(signal.SIGUSR1, signal.SIG_IGN)\ntry: os.kill(-1, signal.SIGUSR1)\nexcept OSError: pass",
        ),
        way("trace a process", Python, format!("call({}, 16, PARENT, 0, 0)", libc::SYS_ptrace)),
        way("be traced", Python, format!("call({}, 0, 0, 0, 0)", libc::SYS_ptrace)),
        way(
            "read another process's memory",
            Python,
            format!("call({}, PARENT, 0, 0, 0, 0, 0)", libc::SYS_process_vm_readv),
        ),
        way(
            "write another process's memory",
            Python,
            format!("call({}, PARENT, 0, 0, 0, 0, 0)", libc::SYS_process_vm_writev),
        ),
        way("take another process's descriptor", Python, format!("call({}, 0, 0, 0)", libc::SYS_pidfd_getfd)),
        way(
            "limit the parent",
            Python,
            "import resource\nresource.prlimit(PARENT, resource.RLIMIT_CPU, (1, 1)); print('ESCAPED')",
        ),
        way(
            "inherited descriptors",
            Python,
            "for f in os.listdir('/proc/self/fd'):\n  try: p = os.readlink('/proc/self/fd/' + f)\n  except OSError: continue\n  if int(f) > 2 and '/proc' not in p: print('ESCAPED', p)",
        ),
        way(
            "type into the terminal",
            Python,
            format!("import fcntl\nfcntl.ioctl(0, {}, b'x'); print('ESCAPED')", libc::TIOCSTI),
        ),
        way("open the terminal", Bash, "exec 3<>/dev/tty && echo ESCAPED"),
        way(
            "a program that runs as root",
            Bash,
            "f=$(find /usr/bin -perm -4000 -name su | head -1); $f -c id < /dev/null 2>&1 | grep uid=0 && echo ESCAPED; sudo -n id && echo ESCAPED",
        ),
        way(
            "a program that others run as the person",
            Python,
            "open('a', 'w').close()\ndef check():\n  if os.stat('a').st_mode & 0o6000: print('ESCAPED')\nfor f in (lambda: os.chmod('a', 0o4755), lambda: os.fchmod(os.open('a', os.O_RDWR), 0o2755), lambda: os.chmod('a', 0o4755, dir_fd=os.open('.', 0))):\n  try: f()\n  except OSError: pass\n  check()\nos.unlink('a')\ntry: os.open('a', os.O_CREAT | os.O_WRONLY, 0o4755); check()\nexcept OSError: pass",
        ),
        way("its mode by a newer call", Python, "open('a', 'w').close()\ncall(452, -100, b'a', 0o4755, 0)"),
        way("raise a limit", Bash, "ulimit -n unlimited; ulimit -c 1000 && echo ESCAPED"),
    ]
}

fn kernel() -> Vec<Way> {
    let flags = libc::CLONE_NEWUSER;
    let mut ways = vec![
        way("a user namespace", Bash, "unshare -Ur id && echo ESCAPED"),
        way(
            "a namespace by clone",
            Python,
            format!(
                "r = libc.syscall({}, {flags} | 17, 0, 0, 0, 0)\nif r == 0: os._exit(0)\nif r > 0: print('ESCAPED')",
                libc::SYS_clone
            ),
        ),
        way("a namespace by clone3", Python, format!("call({}, bytes(88), 88)", libc::SYS_clone3)),
        way("mount a file system", Bash, "mount -t tmpfs x /mnt && echo ESCAPED"),
        way("remount the root writable", Bash, "mount -o remount,rw,bind / && echo ESCAPED"),
        way("a system call of the x32 form", Python, "call(0x40000000 + 41, 2, 1, 0)"),
        way("a system call of the future", Python, "call(600)"),
    ];
    for (name, call, arguments) in [
        ("enter a namespace", libc::SYS_setns, "0, 0"),
        ("the keys of the session", libc::SYS_keyctl, "0, -3, 1"),
        ("a program in the kernel", libc::SYS_bpf, "0, 0, 0"),
        ("count events of the kernel", libc::SYS_perf_event_open, "0, 0, -1, -1, 0"),
        ("handle faults of memory", libc::SYS_userfaultfd, "1"),
        ("calls by a ring", libc::SYS_io_uring_setup, "1, bytes(120)"),
        ("load a kernel", libc::SYS_kexec_load, "0, 0, 0, 0"),
        ("load a module", libc::SYS_init_module, "0, 0, b''"),
        ("shared memory of the system", libc::SYS_shmget, "4242, 4096, 0o1600"),
        ("a queue of messages of the system", libc::SYS_mq_open, "b'escaped', 0o102, 0o600, 0"),
        ("memory without a name", libc::SYS_memfd_create, "b'x', 0"),
    ] {
        ways.push(way(name, Python, format!("call({call}, {arguments})")));
    }
    ways
}

fn network() -> Vec<Way> {
    let s = "import socket\n";
    vec![
        way("connect by TCP", Bash, "exec 3<>/dev/tcp/127.0.0.1/$TCP && echo ESCAPED"),
        way(
            "connect by TCP, version 6",
            Python,
            format!("{s}socket.socket(socket.AF_INET6); print('ESCAPED')"),
        ),
        way("send by UDP", Bash, "echo x > /dev/udp/127.0.0.1/$UDP && echo ESCAPED"),
        way("listen", Python, format!("{s}socket.create_server(('127.0.0.1', 0)); print('ESCAPED')")),
        way(
            "a socket of another service",
            Python,
            format!(
                "{s}a = socket.socket(socket.AF_UNIX); a.connect(OUT + '/service.sock'); print('ESCAPED')"
            ),
        ),
        way(
            "an abstract socket",
            Python,
            format!(
                "{s}a = socket.socket(socket.AF_UNIX); a.connect('\\0' + os.environ['ABSTRACT']); print('ESCAPED')"
            ),
        ),
        way(
            "a pair of sockets, connected again",
            Python,
            format!(
                "{s}a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b'x', OUT + '/datagram.sock'); print('ESCAPED')"
            ),
        ),
        way(
            "a connected pair, connected again",
            Python,
            format!("{s}a, b = socket.socketpair(); a.connect(OUT + '/service.sock'); print('ESCAPED')"),
        ),
        way(
            "a socket of netlink",
            Python,
            format!("{s}socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); print('ESCAPED')"),
        ),
        way(
            "raw packets",
            Python,
            format!("{s}socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print('ESCAPED')"),
        ),
        way(
            "a socket of a virtual machine",
            Python,
            format!("{s}socket.socket(socket.AF_VSOCK); print('ESCAPED')"),
        ),
        way("look a name up", Python, format!("{s}print('ESCAPED', socket.gethostbyname('contoso.com'))")),
    ]
}

fn environment() -> Vec<Way> {
    vec![
        way("a token in the environment", Bash, "env | grep TOP-SECRET && echo ESCAPED"),
        way(
            "the person's home by its variable",
            Bash,
            "[ \"$HOME\" = \"$VICTIM\" ] && echo ESCAPED; cat ~/.ssh/id && echo ESCAPED",
        ),
        way("an agent of ssh", Bash, "[ -n \"$SSH_AUTH_SOCK\" ] && echo ESCAPED"),
        way(
            "a library that is loaded first",
            Bash,
            "[ -n \"$LD_PRELOAD\" ] && echo ESCAPED; LD_PRELOAD=$PWD/none.so su -c id < /dev/null 2> /dev/null | grep uid=0 && echo ESCAPED",
        ),
    ]
}

fn hogs() -> Vec<Way> {
    let hog = |name, by, script: &str, then| Way { name, by, script: script.to_owned(), then };
    vec![
        hog(
            "a fork bomb",
            Bash,
            "f() { f | f & }; f; sleep 20",
            Ended(|cause| matches!(cause, Cause::ProcessLimit | Cause::Exited | Cause::TimeLimit)),
        ),
        hog("memory of one process", Python, "x = bytearray(2 << 30); print('ESCAPED')", Refused),
        hog(
            "memory of many processes",
            Python,
            "import time\nfor n in range(8):\n  if os.fork() == 0:\n    x = bytearray(200 << 20); time.sleep(20)\ntime.sleep(20); print('ESCAPED')",
            Ended(|cause| *cause == Cause::MemoryLimit),
        ),
        hog("a large file", Bash, "head -c 300M /dev/zero > large && echo ESCAPED; rm -f large", Refused),
        hog(
            "many files",
            Bash,
            "for n in 1 2 3 4 5 6 7 8 9; do head -c 90M /dev/zero > large$n; done; sleep 3; echo ESCAPED",
            Ended(|cause| *cause == Cause::DiskLimit),
        ),
        hog("a flood of output", Bash, "yes", Ended(|cause| *cause == Cause::OutputLimit)),
        hog(
            "no end",
            Bash,
            "trap '' TERM INT HUP; while :; do :; done",
            Ended(|cause| *cause == Cause::TimeLimit),
        ),
        hog(
            "left behind, with a session of its own",
            Bash,
            "setsid bash -c 'exec -a escaped-process sleep 300' > /dev/null 2>&1 & sleep 0.1",
            Refused,
        ),
        hog(
            "left behind, forked twice",
            Python,
            "if os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0:\n    for f in (0, 1, 2): os.close(f)\n    os.execvp('bash', ['bash', '-c', 'exec -a escaped-process sleep 300'])\n  os._exit(0)\nos.wait(); import time; time.sleep(0.1)",
            Refused,
        ),
        hog(
            "left behind, holding the output",
            Bash,
            "bash -c 'exec -a escaped-process sleep 300' &",
            Refused,
        ),
        hog("kill the stage inside", Bash, "kill -9 1 $PPID; kill -STOP 1 $PPID; true", Refused),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_out_is_refused_and_leaves_nothing() {
    let Some(world) = World::new().await else { return };
    let ways: Vec<Way> = [files(), protected(), processes(), kernel(), network(), environment(), hogs()]
        .into_iter()
        .flatten()
        .collect();
    assert!(ways.len() >= 60, "{} ways", ways.len());
    let python = python();
    let (mut wrong, mut told) = (Vec::new(), 0);
    for way in &ways {
        let before = world.fingerprint();
        let words = match way.by {
            Bash => vec!["bash".to_owned(), "-c".to_owned(), way.script.clone()],
            Python => {
                vec![python.clone(), "-c".to_owned(), format!("{}{}", crate::world::PRELUDE, way.script)]
            }
        };
        let mut command = CommandLine::new(words, world.project());
        command.environment = world.variables();
        let sandbox = if matches!(way.then, Refused) { world.sandbox() } else { world.small_sandbox() };
        let ended = sandbox.run(&command, Approval::None, world.never()).await.unwrap();
        let said = format!("{}{}", ended.stdout.text(), ended.stderr.text());
        let mut found = world.left();
        match way.then {
            Refused if ended.cause != Cause::Exited => found.push(format!("ended by {:?}", ended.cause)),
            Ended(expected) if !expected(&ended.cause) => found.push(format!("ended by {:?}", ended.cause)),
            _ => {}
        }
        if said.contains("ESCAPED")
            || said.contains("TOP-SECRET")
            || said.contains("SyntaxError")
            || said.contains("NameError")
        {
            found.push("it got what it wanted, or was not tried".to_owned());
        }
        if world.fingerprint() != before {
            found.push("something outside has changed".to_owned());
        }
        if !found.is_empty() {
            let said: String = said.chars().take(1500).collect();
            wrong.push(format!("{}: {}\n{said}", way.name, found.join(", ")));
        }
        told += usize::from(ended.refused.is_some());
    }
    println!(
        "{} ways out tried, {} refused, {told} of them told of it",
        ways.len(),
        ways.len() - wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The tasks of the whole machine.
fn tasks() -> u64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split_whitespace().nth(3).and_then(|tasks| tasks.split_once('/')?.1.parse().ok()).unwrap_or(0)
}

/// A test beside others once filled the machine with processes: the kernel does not hold root to a number of them, and the
/// warden, which counts, came too seldom to its turn.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_is_ended_on_a_busy_machine() {
    let Some(world) = World::new().await else { return };
    let (end, most, before) = (AtomicBool::new(false), AtomicU64::new(0), tasks());
    let (cause, left) = std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !end.load(Ordering::Relaxed) {
                    most.fetch_max(tasks(), Ordering::Relaxed);
                }
            });
        }
        let mut command = CommandLine::new(
            ["bash", "-c", "f() { f | f & }; f; sleep 20"].map(str::to_owned).to_vec(),
            world.project(),
        );
        command.environment = world.variables();
        let ended = tokio::task::block_in_place(|| {
            let run = world.small_sandbox().run(&command, Approval::None, world.never());
            tokio::runtime::Handle::current().block_on(run)
        });
        end.store(true, Ordering::Relaxed);
        (ended.map(|ended| ended.cause), world.left())
    });
    println!("{before} tasks before, at most {} with the bomb", most.load(Ordering::Relaxed));
    assert!(matches!(cause.unwrap(), Cause::ProcessLimit | Cause::Exited | Cause::TimeLimit));
    assert!(left.is_empty(), "{left:?}");
}
