"""Where the documentation of an estimator is, for the link in its HTML representation."""

from pathlib import Path

ADDRESS = "https://gpclass.readthedocs.io/en/stable"
#: Pages that ``make docs`` built, where gpclass runs from its sources.
BUILT = Path(__file__).resolve().parents[2] / "docs" / "_build" / "html"


class Documented:
    """For estimators: scikit-learn draws a link to these pages."""

    _doc_link_module = "gpclass"

    @property
    def _doc_link_template(self) -> str:
        page = f"api/gpclass.{type(self).__name__}.html"
        return (BUILT / page).as_uri() if (BUILT / page).is_file() else f"{ADDRESS}/{page}"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {}
