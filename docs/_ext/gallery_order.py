"""The order of the examples in the gallery: from the first steps to the special."""

from __future__ import annotations

ORDER = (
    "first_steps",
    "how_sure",
    "compare",
    "relevances",
    "evidence",
    "wrong_labels",
    "soft_labels",
    "imbalanced",
    "ordinal",
    "mixed_frame",
    "views",
    "strings",
    "few_labels",
    "many_rows",
    "stripes",
    "active_rows",
    "online",
    "multi_task",
    "invariances",
    "regression",
    "kernel_uncertainty",
    "engines",
)


class Order:
    """Sort key of sphinx-gallery; examples that are not listed come last, by name."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, file: str) -> tuple[int, str]:
        name = file.removeprefix("plot_").removesuffix(".py")
        return (ORDER.index(name) if name in ORDER else len(ORDER), name)
