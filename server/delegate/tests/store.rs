//! Checks the store on a real disk and in memory: what is written is there after a crash, and no other user may look.

use entraclaw_delegate::store::{Memory, NewTask, Place, StepEnd, Store, StoreError};
use entraclaw_delegate::{
    CallResult, CallState, ContextFile, Hint, Issue, IssueKind, Resumption, Source, Speaker, Step, TaskId,
    TaskState, Tokens,
};
use entraclaw_models::ToolRequest;
use entraclaw_work::Claim;
use serde_json::{Map, json};

fn new(bits: u64, source: Source) -> NewTask {
    NewTask {
        id: TaskId::of(bits),
        source,
        message: format!("message {bits}"),
        context: vec![ContextFile { path: "src/a.rs".to_owned(), content: "fn a() {}\n".to_owned() }],
        hint: Hint::Testing,
        consumer: None,
    }
}

fn request(id: &str) -> ToolRequest {
    ToolRequest { id: id.to_owned(), name: "bash".to_owned(), arguments: json!({"command": "true"}) }
}

fn result(text: &str) -> CallResult {
    CallResult { text: text.to_owned(), status: "success".to_owned(), shown: Map::new() }
}

fn step_end(requests: Vec<ToolRequest>, refused: Vec<Option<CallResult>>) -> StepEnd {
    StepEnd {
        step: Step { step: 0, heard: 1, text: "I look.".to_owned(), requests },
        refused,
        tokens: Tokens { input: 10, output: 3 },
        resumed: None,
        notes: Vec::new(),
    }
}

#[test]
fn what_was_written_is_there_after_the_file_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::Folder(folder.path().join("project"));
    let id = TaskId::of(1);
    {
        let mut store = Store::open(&place).unwrap();
        store.add_task(&new(1, Source::host("claude-code")), 100).unwrap();
        store.start_task(&id, Some("qwen"), None, 200).unwrap();
        store.begin_asking(&id, "qwen", 1, "", None, &[]).unwrap();
        let refused = vec![None, Some(result("no such tool"))];
        store.end_step(&id, &step_end(vec![request("a"), request("b")], refused), 300).unwrap();
        let call = store.next_call(&id).unwrap().unwrap();
        store.begin_call(call.number, 400).unwrap();
        assert!(store.begin_call(call.number, 400).is_err(), "it has begun");
        store.set_partial(&id, "half a wo", 50).unwrap();
    }
    let mut store = Store::open(&place).unwrap();
    let task = store.task(&id).unwrap();
    assert_eq!(
        (task.state, task.step, &*task.partial, task.worked_ms),
        (TaskState::InProgress, 1, "half a wo", 50)
    );
    assert_eq!((task.malformed, task.tokens), (1, Tokens { input: 10, output: 3 }));
    assert_eq!(task.context[0].path, "src/a.rs");
    let calls = store.calls(&id).unwrap();
    let states: Vec<_> = calls.iter().map(|call| call.state).collect();
    assert_eq!(states, [CallState::Running, CallState::Done]);
    store.call_again(calls[0].number).unwrap();
    store.begin_call(calls[0].number, 500).unwrap();
    store.end_call(calls[0].number, &result("ok"), 600).unwrap();
    assert!(store.end_call(calls[0].number, &result("twice"), 700).is_err());
    assert!(store.call_again(calls[0].number).is_err(), "it is done and never runs again");
    let call = store.calls(&id).unwrap().remove(0);
    assert_eq!((call.runs, call.started_ms, call.ended_ms), (2, Some(400), Some(600)));
    store.end_task(&id, TaskState::Completed, Some("done"), 80, 800).unwrap();
    assert!(matches!(
        store.end_task(&id, TaskState::Failed, None, 0, 900),
        Err(StoreError::Order { state: "completed", next: "failed", .. })
    ));
    let said: Vec<_> =
        store.last_messages(10).unwrap().into_iter().map(|one| (one.speaker, one.text)).collect();
    let asked = Speaker::Asker(Source::host("claude-code"));
    assert_eq!(said, [(asked, "message 1".to_owned()), (Speaker::Model, "done".to_owned())]);
    assert!(store.open_tasks().unwrap().is_empty());
}

#[test]
fn what_was_said_between_is_without_the_first_message_and_with_the_last() {
    let mut store = Store::open(&Place::Memory(Memory::default())).unwrap();
    for bits in 1..=4 {
        store.add_task(&new(bits, Source::host("claude-code")), 1).unwrap();
    }
    let between = |after, last, limit| {
        let found = store.messages_between(after, last, limit).unwrap();
        found.into_iter().map(|message| message.number).collect::<Vec<_>>()
    };
    assert_eq!(between(0, 4, 9), [1, 2, 3, 4]);
    assert_eq!(between(1, 3, 9), [2, 3]);
    assert_eq!(between(1, 3, 1), [3]);
    assert!(between(3, 3, 9).is_empty());
}

#[test]
fn a_second_engine_on_the_same_project_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for place in [Place::Folder(folder.path().to_owned()), Place::Memory(Memory::default())] {
        let first = Store::open(&place).unwrap();
        assert!(matches!(Store::open(&place), Err(StoreError::InUse(_))));
        drop(first);
        Store::open(&place).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("deep/project");
    let mut store = Store::open(&Place::Folder(project.clone())).unwrap();
    store.add_task(&new(1, Source::You), 1).unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&project), 0o700);
    let mut count = 0;
    for entry in std::fs::read_dir(&project).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        count += 1;
    }
    assert!(count >= 3, "the file, its log and the lock");
    drop(store);
    let linked = folder.path().join("linked");
    std::os::unix::fs::symlink(&project, &linked).unwrap();
    assert!(matches!(Store::open(&Place::Folder(linked)), Err(StoreError::Folder(_))));
}

#[test]
fn a_file_of_a_newer_program_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::Folder(folder.path().to_owned());
    drop(Store::open(&place).unwrap());
    let connection = rusqlite::Connection::open(folder.path().join("conversation.db")).unwrap();
    connection.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(connection);
    assert!(matches!(Store::open(&place), Err(StoreError::Newer { found: 99, .. })));
}

#[test]
fn a_file_of_an_older_program_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::Folder(folder.path().to_owned());
    let id = TaskId::of(1);
    {
        let mut store = Store::open(&place).unwrap();
        store.add_task(&new(1, Source::host("codex")), 1).unwrap();
        store.start_task(&id, Some("qwen"), None, 2).unwrap();
        store.end_task(&id, TaskState::Completed, Some("done"), 3, 4).unwrap();
    }
    let connection = rusqlite::Connection::open(folder.path().join("conversation.db")).unwrap();
    let older = "DROP INDEX owed_tasks; ALTER TABLE tasks DROP COLUMN claim; ALTER TABLE tasks DROP COLUMN consumer; ALTER TABLE messages DROP COLUMN model; \
                 PRAGMA user_version = 1;";
    connection.execute_batch(older).unwrap();
    drop(connection);
    let store = Store::open(&place).unwrap();
    assert_eq!(store.task(&id).unwrap().claim, Claim::Seen, "what was there before is owed to no host");
    assert_eq!(store.owed().unwrap(), []);
    let models: Vec<_> = store.last_messages(9).unwrap().into_iter().map(|one| one.model).collect();
    assert_eq!(models, [None, Some("qwen".to_owned())]);
}

#[test]
fn a_change_is_whole_or_not_there() {
    let memory = Memory::default();
    let place = Place::Memory(memory.clone());
    let mut store = Store::open(&place).unwrap();
    store.begin_session(1).unwrap();
    memory.fail_after(Some(1));
    store.add_task(&new(1, Source::You), 1).unwrap();
    assert!(matches!(store.add_task(&new(2, Source::You), 1), Err(StoreError::Gone)));
    drop(store);
    memory.fail_after(None);
    let mut store = Store::open(&place).unwrap();
    assert_eq!(store.open_tasks().unwrap().len(), 1);
    assert_eq!(store.last_messages(9).unwrap().len(), 1);
    // The same id twice: neither task nor message.
    assert!(store.add_task(&new(1, Source::You), 1).is_err());
    assert_eq!(store.last_messages(9).unwrap().len(), 1);
}

#[test]
fn a_store_in_memory_is_new_although_another_was_there_before() {
    let filled = || {
        let mut store = Store::open(&Place::Memory(Memory::default())).unwrap();
        assert_eq!((store.session(), store.open_tasks().unwrap().len()), (0, 0));
        assert_eq!((store.message_count().unwrap(), store.quality().unwrap().len()), (0, 0));
        let id = TaskId::of(1);
        store.begin_session(1).unwrap();
        store.add_task(&new(1, Source::You), 1).unwrap();
        store.start_task(&id, Some("qwen"), None, 1).unwrap();
        store.begin_asking(&id, "qwen", 1, "", None, &[]).unwrap();
        store.end_step(&id, &step_end(vec![request("a")], vec![None]), 1).unwrap();
        (store.session(), store.last_message().unwrap(), store.next_call(&id).unwrap().unwrap().number)
    };
    assert_eq!(filled(), filled());
}

#[test]
fn issues_are_filed_under_the_model_and_kind_of_their_task() {
    let mut store = Store::open(&Place::Memory(Memory::default())).unwrap();
    for (bits, end) in [(1, TaskState::Completed), (2, TaskState::Completed), (3, TaskState::Failed)] {
        store.add_task(&new(bits, Source::You), 1).unwrap();
        store.start_task(&TaskId::of(bits), Some("qwen"), None, 1).unwrap();
        store.end_task(&TaskId::of(bits), end, Some(""), 1, 1).unwrap();
    }
    let issue = |kind| Issue {
        source: Source::host("codex"),
        task: Some(TaskId::of(1)),
        kind,
        description: "wrong".to_owned(),
        expected: None,
    };
    for kind in [IssueKind::Incorrect, IssueKind::Slow, IssueKind::Slow] {
        let reported = store.add_issue(&issue(kind), 1).unwrap();
        assert_eq!((reported.model.as_deref(), reported.hint), (Some("qwen"), Hint::Testing));
    }
    let quality = store.quality().unwrap();
    assert_eq!(quality.len(), 1);
    assert_eq!((quality[0].completed, quality[0].failed, quality[0].with_issues), (2, 1, 1));
    assert_eq!(quality[0].issues["slow"], 2);
}

#[test]
fn a_new_session_begins_an_empty_conversation_and_keeps_the_old_one() {
    let mut store = Store::open(&Place::Memory(Memory::default())).unwrap();
    store.add_task(&new(1, Source::You), 1).unwrap();
    let first = store.session();
    store.begin_session(2).unwrap();
    assert!(store.session() > first);
    assert_eq!(store.message_count().unwrap(), 0);
    // An answer belongs to the session in which it was asked for.
    store.start_task(&TaskId::of(1), None, Some(Resumption::Exact), 1).unwrap();
    store.end_task(&TaskId::of(1), TaskState::Completed, Some("late"), 1, 1).unwrap();
    assert_eq!(store.message_count().unwrap(), 0);
}
