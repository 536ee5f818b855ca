"""The steps that bring the archive's tables to their present shape."""
