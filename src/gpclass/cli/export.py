"""The command ``gpclass export``."""

from pathlib import Path
from typing import Annotated

import typer

from ._console import fail, print_json, print_line
from .models import AsJson, ModelFile, _check_output, _load


def export(
    model: ModelFile,
    onnx: Annotated[Path, typer.Argument(metavar="ONNX", help="The file to write, such as model.onnx.")],
    dtype: Annotated[str, typer.Option("--dtype", help="Type of the numbers: float64 or float32.")] = "float64",
    json: AsJson = False,
) -> None:
    """Write a model as an ONNX file, for predictions without Python.

    The file has standard ONNX operators only, and gives the same probabilities in ONNX Runtime, in a browser too. Each
    column of the table that the model uses is an input of shape (N, 1): numbers, NaN where one is missing; dates as
    days since 1970; or text, empty where it is missing. Columns of words and the engine nearest cannot be exported.
    Outputs are label and probabilities, or mean and sd of a regression.
    """
    _check_output(onnx, model)
    from ..io.onnx.export import DTYPES, export_onnx

    if dtype not in DTYPES:
        raise fail(f"--dtype: expected {' or '.join(DTYPES)}, got {dtype!r}", 2)
    loaded = _load(model)
    export_onnx(loaded, onnx, dtype=dtype)
    size = onnx.stat().st_size
    if json:
        print_json({"out": str(onnx), "bytes": size, "labels": loaded.labels})
        return
    print_line(f"{type(loaded.estimator_).__name__} of {loaded.target!r} in {onnx}, {size / 1e6:.1f} MB")
