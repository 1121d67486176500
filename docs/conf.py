"""Settings of the documentation: Sphinx with furo, Markdown pages, and the examples as a gallery. Needs no network."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version as installed
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))
# Two examples at a time, each on one core, are quicker than two that fight for both.
for _pool in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_pool, "1")
os.environ.setdefault("MPLBACKEND", "agg")

project = "gpclass"
author = "The gpclass developers"
project_copyright = author
version = release = installed("gpclass")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "citations",
    "mathml",
    "reference",
    "start_picture",
]
exclude_patterns = ["_build", "_ext", "results", "gallery/*.py", "gallery/*.zip"]
templates_path = ["_ext/templates"]

# ---- Markdown ------------------------------------------------------------------------------------------------------
myst_enable_extensions = ["amsmath", "attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4
myst_update_mathjax = False

# ---- API -----------------------------------------------------------------------------------------------------------
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_context = {"internal": ["Terms", "LogPrior", "lay_over", "by_name"]}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_inherit_docstrings = False
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_preprocess_types = False
add_module_names = False
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
python_maximum_signature_line_length = 100
python_display_short_literal_types = True

# ---- gallery -------------------------------------------------------------------------------------------------------
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("gpclass",),
    "within_subsection_order": "gallery_order.Order",
    "parallel": 2,
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "image_srcset": ["2x"],
    "thumbnail_size": (480, 336),
    "capture_repr": ("_repr_html_", "__repr__"),
    "copyfile_regex": "",
}

# ---- HTML ----------------------------------------------------------------------------------------------------------
html_theme = "furo"
html_title = "gpclass"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#0065a0"},
    "dark_css_variables": {"color-brand-primary": "#7cc0f0", "color-brand-content": "#7cc0f0"},
    "footer_icons": [],
}
