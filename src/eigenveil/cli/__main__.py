"""Run the command line with ``python -m eigenveil.cli``; same as ``eigenveil``."""

from eigenveil.cli.front import main

if __name__ == "__main__":
    main()
