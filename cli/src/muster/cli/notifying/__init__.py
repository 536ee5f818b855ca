"""What the commands of `muster notify` share: asking the notifier, and taking what is secret."""
