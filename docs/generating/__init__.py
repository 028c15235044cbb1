"""Makers of the generated pages, by subject; `docs/generate.py` writes what they return."""

MADE = "<!-- Made from the code by docs/generate.py: change it there. -->"
"""The line at the head of a page that is generated as a whole."""

GREY = "#808080"
"""The colour of text and lines of pictures, which can be read on white and on black."""
