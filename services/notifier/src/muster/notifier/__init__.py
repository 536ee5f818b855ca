"""The notifier: tells people what happened to their jobs, once each, on the channel they chose."""
