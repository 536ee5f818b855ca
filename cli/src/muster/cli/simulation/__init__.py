"""Composes the real services into worlds in virtual time, and walks and scenarios over them."""
