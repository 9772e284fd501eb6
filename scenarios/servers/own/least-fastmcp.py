"""The least server on FastMCP."""

from fastmcp import FastMCP

server = FastMCP("least-fastmcp")


@server.tool(annotations={"readOnlyHint": True})
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


server.run(show_banner=False)
