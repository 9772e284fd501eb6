"""The least server on the Python SDK 1."""

from mcp.server.fastmcp import FastMCP

server = FastMCP("least-python-1")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


server.run()
