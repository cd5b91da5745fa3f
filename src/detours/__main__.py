"""`python -m detours`: the command line, for when the `detours` script is not on the path."""

from detours.cli import main

main()
