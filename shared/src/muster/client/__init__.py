"""The client: publishes requests and waits for their answers."""
