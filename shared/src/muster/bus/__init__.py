"""The bus: the one way to subscribe, and the streams as data."""
