"""The least server on the Python SDK 2."""

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("least-python-2")


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


server.run()
