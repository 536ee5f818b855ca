"""The notifier's decisions, pure: whom to tell, in which words, and whether to try again."""
