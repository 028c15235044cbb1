"""``python -m incast``: the command line."""

from incast.cli import main

main()
