"""``python -m codemode``."""

from codemode.edges.cli import main

if __name__ == "__main__":
    main()
