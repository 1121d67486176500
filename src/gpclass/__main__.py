"""``gpclass`` on the command line, or ``python -m gpclass``."""

from __future__ import annotations


def main() -> None:
    try:
        from .cli import app
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        raise SystemExit(f"the command line needs {error.name}: pip install 'gpclass[cli]'") from error
    app(prog_name="gpclass")


if __name__ == "__main__":
    main()
