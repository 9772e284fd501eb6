"""A least MCP server on standard input and output, with one tool that makes the file it is told."""
import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if number is None:
        continue
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "local", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "touch", "description": "Makes a file.", "inputSchema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}}]}
    elif method == "tools/call":
        open(message["params"]["arguments"]["command"], "w").close()
        result = {"content": [{"type": "text", "text": "made"}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "not here"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)
