"""How things look on a terminal: tables, lines, panels. Pure: values in, renderables out."""
