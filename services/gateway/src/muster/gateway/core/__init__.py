"""The gateway's decisions: what is shown, what is asked for, and when a history is whole."""
