"""The least server on the Python SDK 2."""

from mcp.server import MCPServer

server = MCPServer("least-python-2")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


server.run()
