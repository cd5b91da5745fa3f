"""`python -m detours`: the command line, where the command itself is not on the path."""

from detours.cli import main

main()
