"""Entry point of ``python -m tocsin``, the same as ``tocsin``."""

from tocsin.cli.main import main

if __name__ == "__main__":
    main()
