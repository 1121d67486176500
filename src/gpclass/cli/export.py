"""The command ``gpclass export``."""

from pathlib import Path
from typing import Annotated

import typer

from ._console import fail, print_json, print_line
from .models import AsJson, ModelFile, _check_output, _load


def export(
    model: ModelFile,
    onnx: Annotated[Path, typer.Argument(metavar="ONNX", help="File to write, such as model.onnx.")],
    dtype: Annotated[
        str, typer.Option("--dtype", help="Type of numeric inputs: float64 or float32.", metavar="TYPE")
    ] = "float64",
    json: AsJson = False,
) -> None:
    """Export a model to an ONNX file, for predictions without Python.

    The file uses standard ONNX operators only and gives the same probabilities in ONNX Runtime, also in a browser. It
    has one input of shape (N, 1) for each column that the model uses: numbers (NaN if missing), dates as days since
    1970, or text (empty if missing). Text columns of words and the engine nearest cannot be exported. The outputs are
    label and probabilities or, for regression, mean and sd. Costs and thresholds are not part of the file.
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
    print_line(f"wrote {onnx} ({size / 1e6:.1f} MB): {type(loaded.estimator_).__name__} of {loaded.target!r}")
