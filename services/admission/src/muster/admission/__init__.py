"""The door: judges requests, and writes what it lets in."""
