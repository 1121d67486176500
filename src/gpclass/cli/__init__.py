"""The command ``gpclass``, also ``python -m gpclass.cli``."""


def main() -> None:
    try:
        from .app import app
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        raise SystemExit(f"the command line needs {error.name}: pip install 'gpclass[cli]'") from error
    app(prog_name="gpclass")
