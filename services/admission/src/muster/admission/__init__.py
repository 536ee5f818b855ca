"""Admission, the door: every request from outside is judged, carried out and answered here."""
