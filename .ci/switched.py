"""Writes mutants behind a switch into a tree of sources, so that one build holds all of them.

A function with mutants gets their bodies beside its own, and runs the one whose number a check has named. What can't stand
so is left to the caller; where its function can at least note that it was reached, it does.
"""

import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

# Names the mutant that is on.
ON = "MUTANT_ON"
# Names a file that gets the number of each mutant that is reached.
REACHED = "MUTANTS_REACHED"
# Begins a check's command, and writes what both variables say to a file that has the name of the check's session: a test may
# start a program without its environment.
BEGIN = 'printf "%s\\n%s\\n" "$2" "$3" >"$1/$$" && shift 3 && exec "$@"'
# What takes so many times as long as without a mutant, and at least so many seconds, does not end.
SLOWER_MAX, WAIT_MIN_S = 10, 15
# The folder of the package that plays the scenarios, and the name of its test.
SCENARIOS = ("simulation", "scenarios")
# What the compiler refuses only where it makes code, so that a check does not tell which mutants it is.
ALLOW = "#![allow(arithmetic_overflow, unconditional_panic)] "
SWITCH = """
/// Whether the mutant with this number is switched on; notes that it was reached.
pub(crate) fn mutant_is_on(number: usize) -> bool {
    use std::collections::HashSet;
    use std::io::Write as _;
    use std::sync::{LazyLock, Mutex, PoisonError};
    fn said(name: &str, nth: usize) -> Option<String> {
        if let Ok(said) = std::env::var(name) {
            return Some(said);
        }
        // A program may have begun a session of its own, so the session of each process above it is asked too.
        let mut process = "self".to_owned();
        loop {
            let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
            let mut words = stat.rsplit(')').next()?.split_whitespace().skip(1);
            let (parent, session) = (words.next()?, words.nth(1)?);
            if let Ok(said) = std::fs::read_to_string(format!("FOLDER/{session}")) {
                return said.lines().nth(nth).filter(|line| !line.is_empty()).map(str::to_owned);
            }
            process = parent.to_owned();
        }
    }
    static ON: LazyLock<Option<usize>> = LazyLock::new(|| said("MUTANT_ON", 0)?.parse().ok());
    static TO: LazyLock<Option<String>> = LazyLock::new(|| said("MUTANTS_REACHED", 1));
    static REACHED: LazyLock<Mutex<HashSet<usize>>> = LazyLock::new(Mutex::default);
    if let Some(path) = &*TO
        && REACHED.lock().unwrap_or_else(PoisonError::into_inner).insert(number)
        && let Ok(mut file) = std::fs::OpenOptions::new().append(true).create(true).open(path)
    {
        let _ = file.write_all(format!("{number}\\n").as_bytes());
    }
    *ON == Some(number)
}
"""


class CannotTry(Exception):
    """Why the mutants can't be tried."""


class Unswitchable(Exception):
    """A mutant that can't stand behind a switch."""


class Body:
    """The body of a function in a text, without its braces, and the mutants in it."""

    def __init__(self, text, function):
        start, end = offset(text, function["span"]["start"]), offset(text, function["span"]["end"])
        name = function["function_name"].rsplit("::", 1)[-1]
        found = re.compile(rf"\bfn\s+(?:r#)?{re.escape(name)}\b").search(text, start, end)
        if not found:
            raise Unswitchable("its function is not found")
        if "const" in text[start : found.start()].split():
            raise Unswitchable("its function is const")
        self.start, self.end = text.index("{", found.end()) + 1, end - 1
        self.text = text[self.start : self.end]
        self.mutants, self.marks = [], []

    def add(self, number, text, mutant):
        at, to = (offset(text, mutant["span"][side]) - self.start for side in ("start", "end"))
        if not 0 <= at <= to <= len(self.text):
            raise Unswitchable("it is no part of the body of its function")
        self.mutants.append((number, self.text[:at] + mutant["replacement"] + self.text[to:]))

    def switched(self):
        """The body with its mutants, as pairs of a text and the numbers of the mutants that it stands for."""
        every = [number for number, _ in self.mutants]
        for number in self.marks:
            yield f" crate::mutant_is_on({number});", [number]
        for number, body in self.mutants:
            yield f" if crate::mutant_is_on({number}) {{", every
            yield body, [number]
            yield "} else ", every
        yield f"{{{self.text}}} ", every


def offset(text, place):
    """The offset of a line and column, which count characters from one."""
    before = 0
    for _ in range(place["line"] - 1):
        before = text.index("\n", before) + 1
    return before + place["column"] - 1


def switch(tree, mutants, crates):
    """Puts the mutants, by number, into a tree that compiles.

    Returns the numbers of those that it had to leave out, and of those among them whose function can't note either that it
    was reached. `crates` are the names of the packages whose roots get the switch. An error of the compiler leaves out the
    mutants whose lines it names, until there is none.
    """
    left_out, unmarked = set(), set()
    sources = {mutant["file"]: (tree / mutant["file"]).read_text() for mutant in mutants.values()}
    give_switch(tree, crates)
    # A crate's root may hold a mutant itself.
    around = {file: (tree / file).read_text().partition(text) for file, text in sources.items()}
    while True:
        owners = {}
        for file, text in sources.items():
            inside = {n: m for n, m in mutants.items() if m["file"] == file and n not in unmarked}
            switched, owners[file], out_of_place = rewrite(text, inside, left_out)
            left_out |= out_of_place
            unmarked |= out_of_place
            before, _, after = around[file]
            (tree / file).write_text(before + switched + after)
        wrong = errors(tree)
        if not wrong:
            return left_out, unmarked
        guilty = set()
        for spans in wrong:
            named = (owners.get(file, {}).get(line, []) for file, line in spans)
            guilty.update(next((numbers for numbers in named if numbers), []))
        if not guilty - unmarked:
            raise CannotTry(f"the switched source does not compile, and no mutant is named: {wrong[:3]}")
        unmarked |= guilty & left_out
        left_out |= guilty


def packages_of(tree):
    metadata = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    return json.loads(subprocess.run(metadata, cwd=tree, check=True, capture_output=True).stdout)["packages"]


def session_files(tree):
    """The folder of what the checks say to programs without an environment."""
    return tree.parent / "sessions"


def give_switch(tree, crates):
    roots = {
        target["src_path"]
        for package in packages_of(tree)
        if package["name"] in crates
        for target in package["targets"]
        if set(target["kind"]) & {"lib", "bin", "rlib"}
    }
    session_files(tree).mkdir(exist_ok=True)
    text = SWITCH.replace("FOLDER", str(session_files(tree)))
    for root in map(pathlib.Path, sorted(roots)):
        root.write_text(ALLOW + root.read_text() + text)


def rewrite(text, mutants, only_marked):
    """The text with the mutants behind their switch, the mutants that each line stands for, and those that have no place.
    Of those in `only_marked` it has the note alone."""
    bodies, left_out = {}, set()
    for number, mutant in mutants.items():
        try:
            if not mutant["function"]:
                raise Unswitchable("it is in no function")
            key = json.dumps(mutant["function"])
            body = bodies.get(key) or Body(text, mutant["function"])
            inside = [other for name, other in bodies.items() if name != key and overlap(other, body)]
            if inside:
                raise Unswitchable("a function around it has a mutant too")
            if number in only_marked:
                body.marks.append(number)
            else:
                body.add(number, text, mutant)
            bodies[key] = body
        except Unswitchable:
            left_out.add(number)
    pieces, place = [], 0
    for body in sorted(bodies.values(), key=lambda body: body.start):
        pieces.append((text[place : body.start], []))
        pieces.extend(body.switched())
        place = body.end
    pieces.append((text[place:], []))
    owners, line = {}, 1
    for piece, numbers in pieces:
        for step in range(piece.count("\n") + 1 if numbers else 0):
            # A line that two pieces share is that of the single mutant.
            if len(numbers) <= len(owners.get(line + step, numbers)):
                owners[line + step] = numbers
        line += piece.count("\n")
    return "".join(piece for piece, _ in pieces), owners, left_out


def overlap(one, other):
    return one.start < other.end and other.start < one.end


def errors(tree):
    """The places that each error names, as pairs of a file and a line, the most telling first."""
    check = subprocess.run(
        ["cargo", "check", "--workspace", "--locked", "--keep-going", "--message-format", "json"],
        cwd=tree,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    wrong = []
    for line in check.stdout.splitlines():
        message = json.loads(line).get("message")
        if not isinstance(message, dict) or message.get("level") != "error" or not message["spans"]:
            continue
        spans = sorted(message["spans"], key=lambda span: not span["is_primary"])
        wrong.append([(span["file_name"], span["line_start"]) for span in spans])
    if check.returncode != 0 and not wrong:
        raise CannotTry("cargo check fails on the switched source without an error in it")
    return wrong


class Check:
    """A command that tells by its exit code whether a mutant is caught: a single test, or the plays of a suite."""

    def __init__(self, name, command, cwd, package, tree):
        self.name, self.command, self.cwd, self.package = name, command, cwd, package
        self.took_s, self.reached = 0.0, set()
        self.session_files = session_files(tree)

    @property
    def test(self):
        """The name of the test in its program, or of the suite."""
        return self.name.rsplit("/", 1)[-1]

    def try_unchanged(self, out):
        """Runs it without a mutant, and notes which mutants it reaches and how long it takes."""
        with tempfile.NamedTemporaryFile("r") as reached:
            # A busy machine fails a test once.
            for _ in range(2):
                began = time.monotonic()
                code = self.run(out, {REACHED: reached.name}, None)
                self.took_s = time.monotonic() - began
                if code == 0:
                    self.reached = set(map(int, reached.read().split()))
                    return
        raise CannotTry(f"{self.name} fails on the source as it is; see {self.log(out)}")

    def catches(self, number, out, wait_max_s):
        """Whether it fails with this mutant, or does not end in time, and does so again: a busy machine fails a test once."""
        wait_max_s = min(wait_max_s, max(WAIT_MIN_S, SLOWER_MAX * self.took_s))
        return all(self.run(out, {ON: str(number)}, wait_max_s) != 0 for _ in range(2))

    def log(self, out):
        return out / "failed" / f"{self.name.replace('/', '.')}.log"

    def run(self, out, environment, wait_max_s):
        said = [self.session_files, environment.get(ON, ""), environment.get(REACHED, "")]
        begun = ["sh", "-c", BEGIN, "sh", *said, *self.command]
        return run(begun, self.cwd, self.log(out), wait_max_s, environment)


def run(command, cwd, log, wait_max_s, environment=None):
    """The exit code; `None` where it runs longer than that many seconds. Its processes end with it. `log` is written where
    it fails."""
    said = tempfile.TemporaryFile()
    process = subprocess.Popen(
        command, cwd=cwd, env=os.environ | (environment or {}), stdout=said, stderr=said, start_new_session=True
    )
    try:
        return process.wait(wait_max_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.returncode != 0:
            said.seek(0)
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_bytes(said.read())


def checks(tree, packages, with_scenarios):
    """Each test of these packages by itself, or of all crates of the server, and the plays of each suite in simulation."""
    chosen = packages + ["simulation"] if packages and with_scenarios else packages
    of = [word for package in chosen for word in ("--package", package)] or ["--workspace"]
    test = ["cargo", "test", *of, "--tests", "--locked", "--no-run", "--message-format", "json"]
    built = subprocess.run(test, cwd=tree, check=True, stdout=subprocess.PIPE, text=True).stdout
    names = {package["manifest_path"]: package["name"] for package in packages_of(tree)}
    tests, plays = [], []
    for one in map(json.loads, built.splitlines()):
        if not one.get("executable") or not one["profile"]["test"]:
            continue
        folder, name, package = pathlib.Path(one["manifest_path"]).parent, one["target"]["name"], names[one["manifest_path"]]
        check = functools.partial(Check, cwd=folder, package=package, tree=tree)
        if folder.is_relative_to(tree / "server"):
            tests += alone(one["executable"], folder, f"{folder.name}/{name}", check)
        elif (folder.name, name) == SCENARIOS and with_scenarios:
            plays += by_suite(one["executable"], folder, name, check)
    return tests, plays


def alone(program, folder, name, check):
    """Each test of a program by itself."""
    return [check(f"{name}/{test}", [program, "--exact", test]) for test in listed(program, folder)]


def by_suite(program, folder, name, check):
    """The plays of each suite in simulation. A program for each of them would read all scenarios, which takes longer than a
    play. Processes are left out, for they run in real time."""
    suites = dict.fromkeys(test.split(".")[0] for test in listed(program, folder))
    return [check(f"{name}/{suite}", [program, f"{suite}.", "--skip", "::process"]) for suite in suites]


def listed(program, folder):
    terse = [program, "--list", "--format", "terse"]
    listed = subprocess.run(terse, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.findall(r"^(.+): test$", listed, re.MULTILINE)
