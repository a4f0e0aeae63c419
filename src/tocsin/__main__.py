"""What does ``python -m tocsin`` do? The same as ``tocsin``."""

from tocsin.cli.main import main

if __name__ == "__main__":
    main()
