"""``python -m eigenveil.cli`` is ``eigenveil``."""

from eigenveil.cli.front import main

if __name__ == "__main__":
    main()
