"""Run all fits and write what they give to table.json."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.frozen.fits import CASES

HERE = Path(__file__).parent


def plain(values: Any) -> Any:
    """Nested lists of floats, None for NaN: JSON has no word for it."""
    if isinstance(values, list):
        return [plain(value) for value in values]
    return None if np.isnan(values) else values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", nargs="?", type=Path, default=HERE / "table.json")
    parser.add_argument("--new", action="store_true", help="keep what the table has, and add the cases that it lacks")
    parser.add_argument("--times", action="store_true", help="print the seconds that each case takes")
    asked = parser.parse_args()
    known = json.loads(asked.path.read_text()) if asked.new else {}
    table, start = {}, time.perf_counter()
    for name, case in CASES.items():
        if name in known:
            table[name] = known[name]
            continue
        begun = time.perf_counter()
        table[name] = {part: plain(values.tolist()) for part, values in case.run().items()}
        if asked.times:
            print(f"{time.perf_counter() - begun:6.2f} s  {name}", flush=True)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(told, allow_nan=False)}" for name, told in table.items())
    asked.path.write_text("{\n" + lines + "\n}\n")
    print(f"{len(table)} cases in {time.perf_counter() - start:.1f} s: {asked.path}")


if __name__ == "__main__":
    main()
