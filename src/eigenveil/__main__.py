"""`python -m eigenveil` is the command `eigenveil`."""

from eigenveil.cli import main

if __name__ == "__main__":
    main()
