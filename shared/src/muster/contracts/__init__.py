"""The shapes on the wire: subjects, events, requests and answers."""
