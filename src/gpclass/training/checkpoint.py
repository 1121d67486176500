"""What a long fit has reached, in a file: parameters and inducing points, then every round over the rows."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..io.files import write_whole


@dataclass(frozen=True)
class Checkpoint:
    """A pickle that is replaced as a whole; ``about`` says which fit it belongs to."""

    path: Path
    about: str

    def load(self) -> Any:
        """What was saved last by the same fit, or None where there is no file."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            about, state = pickle.loads(content)
        except Exception as error:
            raise ValueError(f"expected a checkpoint of a fit in {self.path}, got another file ({error})") from None
        if about != self.about:
            raise ValueError(
                f"{self.path} is the checkpoint of another fit: expected {self.about}, got {about}; name another file, "
                "or delete it"
            )
        return state

    def save(self, state: Any) -> None:
        write_whole(self.path, pickle.dumps((self.about, state), protocol=5))

    def remove(self) -> None:
        """The fit is done."""
        self.path.unlink(missing_ok=True)
