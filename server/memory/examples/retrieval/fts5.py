"""Ranks sessions by SQLite's FTS5: a row for each message, any of the words, the best row of a session counts.

Reads a set as JSON from stdin, and prints for each tokenizer the sessions of each question, best first, as JSON.
"""

import json
import re
import sqlite3
import sys

found = {}
data = json.load(sys.stdin)
for tokenizer in ("unicode61", "porter unicode61"):
    base = sqlite3.connect(":memory:")
    base.execute(f"CREATE VIRTUAL TABLE said USING fts5(text, session UNINDEXED, tokenize='{tokenizer}')")
    rows = ((one["content"], talk["id"]) for talk in data["sessions"] for one in talk["messages"])
    base.executemany("INSERT INTO said VALUES (?, ?)", rows)
    answers = []
    for question in data["questions"]:
        words = re.findall(r"\w+", question["text"].lower())
        query = " OR ".join(f'"{word}"' for word in words)
        sessions = []
        for (session,) in base.execute("SELECT session FROM said WHERE said MATCH ? ORDER BY rank LIMIT 500", (query,)):
            if session not in sessions:
                sessions.append(session)
        answers.append(sessions[:5])
    found[tokenizer] = answers
json.dump({"version": sqlite3.sqlite_version, "found": found}, sys.stdout)
