"""The gateway: HTTP, the browser's view, and the archive of the log."""
