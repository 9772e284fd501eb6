"""A scripted model on the loopback interface, for recording what coding agents do.

It speaks OpenAI chat completions, OpenAI responses, Anthropic messages and Gemini generateContent, streamed and not.
Each main request takes the next step of the script; the last step repeats. A step is a dict:

  {"text": "..."}                  an answer; with "slow": N the second half comes N seconds after the first
  {"shell": "touch x"}             one call of the agent's shell tool
  {"write": "/path", "body": "x"}  one call of the agent's file-writing tool
  {"status": 402, "message": ""}   an HTTP error in the form of the interface

A request without tools (titles, summaries) gets the answer "title" and takes no step.
It must never be reachable from outside: it listens on 127.0.0.1 only.
"""
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SHELLS = ["bash", "Bash", "run_shell_command", "exec_command", "shell_command", "shell", "powershell", "execute"]
WRITERS = ["create", "Write", "write_file", "write", "apply_patch", "str_replace_editor"]


def offered_tools(body):
    """Returns {name: {"schema": ..., "kind": ...}} of all interfaces."""
    found = {}
    for tool in body.get("tools") or []:
        if "functionDeclarations" in tool:
            for one in tool["functionDeclarations"]:
                found[one["name"]] = {"schema": one.get("parametersJsonSchema") or one.get("parameters") or {}, "kind": "function"}
            continue
        inner = tool.get("function") or tool.get("custom") or tool
        name = inner.get("name") or tool.get("type")
        found[name] = {"schema": inner.get("parameters") or inner.get("input_schema") or {}, "kind": tool.get("type", "function")}
    return found


def patch_text(path, body):
    return "*** Begin Patch\n*** Add File: %s\n+%s\n*** End Patch\n" % (path, body)


def tool_call(step, tools, usual):
    """Returns (name, arguments, kind, whether it was offered)."""
    names = SHELLS if "shell" in step else WRITERS
    name = step.get("name") or next((n for n in names if n in tools), None)
    if name is None and "write" in step and "exec_command" in tools:
        step = {"shell": "apply_patch <<'EOF'\n%sEOF" % patch_text(step["write"], step.get("body", "made by the agent"))}
        name = "exec_command"
    offered = name is not None and name in tools
    if name is None:
        name = usual[0] if "shell" in step else usual[1]
    spec = tools.get(name, {"schema": {}, "kind": "function"})
    props = spec["schema"].get("properties") or {}
    args = {}
    if "shell" in step:
        key = "cmd" if "cmd" in props else "command"
        array = (props.get(key) or {}).get("type") in ("array", "ARRAY")
        args[key] = ["bash", "-lc", step["shell"]] if array else step["shell"]
        if "timeout_ms" in props and step.get("long"):
            args["timeout_ms"] = 600000
        if "yield_time_ms" in props and step.get("long"):
            args["yield_time_ms"] = 60000
        if "is_background" in props:
            args["is_background"] = False
    elif name == "apply_patch":
        args["input"] = patch_text(step["write"], step.get("body", "made by the agent"))
    elif name == "str_replace_editor":
        args = {"command": "create", "path": step["write"], "file_text": step.get("body", "made by the agent")}
    else:
        path = next((k for k in ("path", "file_path", "filePath") if k in props), usual[2])
        text = next((k for k in ("file_text", "content") if k in props), usual[3])
        args = {path: step["write"], text: step.get("body", "made by the agent")}
    for key in spec["schema"].get("required") or []:
        if key not in args:
            kind = (props.get(key) or {}).get("type")
            args[key] = {"boolean": False, "integer": 1000, "number": 1000}.get(kind, "as asked")
    return name, args, spec["kind"], offered


class Model:
    """The server: `Model(script)`, then `.port`; `.requests` is what it was asked.

    `usual` names the shell tool, the writing tool and its two arguments, for calls of tools that were not offered.
    """

    def __init__(self, script, usual=("bash", "create", "path", "file_text")):
        self.usual = usual
        self.script = script
        self.at = 0
        self.requests = []
        self.lock = threading.Lock()
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                with model.lock:
                    model.requests.append({"method": "GET", "path": self.path.split("?")[0]})
                data = json.dumps({"object": "list", "data": [{"id": "scripted-model", "object": "model"}]}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_POST(self):
                length = int(self.headers.get("content-length") or 0)
                raw = self.rfile.read(length)
                try:
                    body = json.loads(raw)
                except ValueError:
                    body = {}
                try:
                    model.answer(self, body)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                """An agent that was ended leaves its connection; that is no error."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, http, body):
        path = http.path.split("?")[0]
        if "countTokens" in path or "count_tokens" in path:
            return self.plain(http, {"input_tokens": 10, "totalTokens": 10})
        if path.endswith("/responses"):
            form = "responses"
        elif path.endswith("/messages"):
            form = "messages"
        elif "enerateContent" in path:
            form = "gemini"
        elif path.endswith("/chat/completions"):
            form = "chat"
        else:
            with self.lock:
                self.requests.append({"method": "POST", "path": path})
            return self.plain(http, {"error": "not here"}, 404)
        tools = offered_tools(body)
        stream = "streamGenerateContent" in path if form == "gemini" else bool(body.get("stream"))
        name = body.get("model") or path.rsplit("/", 1)[-1].split(":")[0]
        with self.lock:
            note = {"method": "POST", "path": path, "model": name, "tools": sorted(tools), "bytes": int(http.headers.get("content-length") or 0)}
            last = (body.get("messages") or body.get("input") or body.get("contents") or [None])
            note["last"] = json.dumps(last[-1] if isinstance(last, list) else last)[-700:]
            self.requests.append(note)
            if tools:
                step = self.script[min(self.at, len(self.script) - 1)]
                self.at += 1
            else:
                step = {"text": "title"}
                if any("status" in s for s in self.script):
                    step = next(s for s in self.script if "status" in s)
        if "status" in step:
            message = step.get("message", "scripted error")
            kinds = {401: "authentication_error", 402: "billing_error", 404: "not_found_error", 429: "rate_limit_error"}
            if form == "gemini":
                error = {"error": {"code": step["status"], "message": message, "status": "SCRIPTED"}}
            elif form == "messages":
                error = {"type": "error", "error": {"type": kinds.get(step["status"], "api_error"), "message": message}}
            else:
                error = {"error": {"message": message, "type": kinds.get(step["status"], "server_error"), "code": step.get("code")}}
            return self.plain(http, error, step["status"])
        call = None
        if "shell" in step or "write" in step:
            call = tool_call(step, tools, self.usual)
            note["called"] = call[0]
            note["offered"] = call[3]
        getattr(self, form)(http, step, call, stream, name)

    def plain(self, http, value, status=200):
        data = json.dumps(value).encode()
        http.send_response(status)
        http.send_header("content-type", "application/json")
        http.send_header("content-length", str(len(data)))
        http.end_headers()
        http.wfile.write(data)

    def open(self, http):
        http.send_response(200)
        http.send_header("content-type", "text/event-stream")
        http.send_header("connection", "close")
        http.end_headers()
        http.close_connection = True

    def event(self, http, value, name=None):
        text = ("event: %s\n" % name if name else "") + "data: %s\n\n" % (value if isinstance(value, str) else json.dumps(value))
        http.wfile.write(text.encode())
        http.wfile.flush()

    def halves(self, step):
        text = step.get("text", "")
        if not step.get("slow"):
            return [(0, text)]
        cut = max(1, len(text) // 2)
        return [(0, text[:cut]), (step["slow"], text[cut:])]

    def chat(self, http, step, call, stream, name):
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        base = {"id": "chatcmpl-1", "created": int(time.time()), "model": name}
        if not stream:
            message = {"role": "assistant", "content": step.get("text")}
            if call:
                message["tool_calls"] = [{"id": "call_%d" % self.at, "type": "function", "function": {"name": call[0], "arguments": json.dumps(call[1])}}]
            time.sleep(step.get("slow", 0))
            return self.plain(http, dict(base, object="chat.completion", usage=usage, choices=[{"index": 0, "message": message, "finish_reason": "tool_calls" if call else "stop"}]))
        self.open(http)

        def chunk(delta, finish=None, **more):
            self.event(http, dict(base, object="chat.completion.chunk", choices=[{"index": 0, "delta": delta, "finish_reason": finish}], **more))

        chunk({"role": "assistant", "content": ""})
        if call:
            if call[2] == "custom":
                chunk({"tool_calls": [{"index": 0, "id": "call_%d" % self.at, "type": "custom", "custom": {"name": call[0], "input": call[1].get("input", "")}}]})
            else:
                chunk({"tool_calls": [{"index": 0, "id": "call_%d" % self.at, "type": "function", "function": {"name": call[0], "arguments": json.dumps(call[1])}}]})
            chunk({}, "tool_calls")
        else:
            for wait, text in self.halves(step):
                time.sleep(wait)
                chunk({"content": text})
            chunk({}, "stop")
        self.event(http, dict(base, object="chat.completion.chunk", choices=[], usage=usage))
        self.event(http, "[DONE]")

    def responses(self, http, step, call, stream, name):
        usage = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18, "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        rid = "resp_%d" % self.at
        base = {"id": rid, "object": "response", "created_at": int(time.time()), "model": name, "status": "in_progress", "output": []}
        if call and call[2] == "custom":
            item = {"type": "custom_tool_call", "id": "ct_%d" % self.at, "call_id": "call_%d" % self.at, "name": call[0], "input": call[1].get("input", ""), "status": "completed"}
        elif call:
            item = {"type": "function_call", "id": "fc_%d" % self.at, "call_id": "call_%d" % self.at, "name": call[0], "arguments": json.dumps(call[1]), "status": "completed"}
        else:
            item = {"type": "message", "id": "msg_%d" % self.at, "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": step.get("text", ""), "annotations": []}]}
        done = dict(base, status="completed", output=[item], usage=usage)
        if not stream:
            time.sleep(step.get("slow", 0))
            return self.plain(http, done)
        self.open(http)
        count = iter(range(100))

        def send(kind, **more):
            self.event(http, dict(more, type=kind, sequence_number=next(count)), kind)

        send("response.created", response=base)
        if call:
            send("response.output_item.added", output_index=0, item=dict(item, status="in_progress"))
            send("response.output_item.done", output_index=0, item=item)
        else:
            send("response.output_item.added", output_index=0, item=dict(item, status="in_progress", content=[]))
            send("response.content_part.added", item_id=item["id"], output_index=0, content_index=0, part={"type": "output_text", "text": "", "annotations": []})
            for wait, text in self.halves(step):
                time.sleep(wait)
                send("response.output_text.delta", item_id=item["id"], output_index=0, content_index=0, delta=text)
            send("response.output_text.done", item_id=item["id"], output_index=0, content_index=0, text=step.get("text", ""))
            send("response.content_part.done", item_id=item["id"], output_index=0, content_index=0, part=item["content"][0])
            send("response.output_item.done", output_index=0, item=item)
        send("response.completed", response=done)

    def messages(self, http, step, call, stream, name):
        block = {"type": "tool_use", "id": "toolu_%d" % self.at, "name": call[0], "input": call[1]} if call else {"type": "text", "text": step.get("text", "")}
        message = {"id": "msg_%d" % self.at, "type": "message", "role": "assistant", "model": name, "stop_sequence": None}
        reason = "tool_use" if call else "end_turn"
        if not stream:
            time.sleep(step.get("slow", 0))
            return self.plain(http, dict(message, content=[block], stop_reason=reason, usage={"input_tokens": 11, "output_tokens": 7}))
        self.open(http)

        def send(kind, **more):
            self.event(http, dict(more, type=kind), kind)

        send("message_start", message=dict(message, content=[], stop_reason=None, usage={"input_tokens": 11, "output_tokens": 1}))
        if call:
            send("content_block_start", index=0, content_block=dict(block, input={}))
            send("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": json.dumps(call[1])})
        else:
            send("content_block_start", index=0, content_block={"type": "text", "text": ""})
            for wait, text in self.halves(step):
                time.sleep(wait)
                send("content_block_delta", index=0, delta={"type": "text_delta", "text": text})
        send("content_block_stop", index=0)
        send("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 7})
        send("message_stop")

    def gemini(self, http, step, call, stream, name):
        usage = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}

        def value(parts, finish=None):
            one = {"content": {"role": "model", "parts": parts}, "index": 0}
            if finish:
                one["finishReason"] = finish
            return {"candidates": [one], "usageMetadata": usage, "modelVersion": name}

        parts = [{"functionCall": {"name": call[0], "args": call[1]}}] if call else [{"text": step.get("text", "")}]
        if not stream:
            time.sleep(step.get("slow", 0))
            return self.plain(http, value(parts, "STOP"))
        self.open(http)
        if call:
            self.event(http, value(parts, "STOP"))
        else:
            for wait, text in self.halves(step):
                time.sleep(wait)
                self.event(http, value([{"text": text}]))
            self.event(http, value([{"text": ""}], "STOP"))
