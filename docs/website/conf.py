"""Sphinx's settings for the documentation site. ``make docs`` runs it; see website/__main__.py."""

from __future__ import annotations

from pathlib import Path

from sfumato.version import __version__

HERE = Path(__file__).parent

project, author, copyright = "Sfumato", "The Sfumato developers", "The Sfumato developers"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "website.extension"]
root_doc = "index"
# Straight quotes and double hyphens are what people copy into a terminal.
smartquotes = False
nitpicky = False
exclude_patterns = ["files/**"]

# Pages are read as code hosts read them: no syntax of MyST's own but in fences, and no HTML.
myst_disable_syntax = ["myst_line_comment", "myst_block_break", "myst_target", "myst_role", "html_inline", "html_block"]
myst_heading_anchors = 6
myst_heading_slug_func = "website.pages.anchor_of"

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
autodoc_type_aliases = {"Number": "Number", "Source": "Source", "Frame": "Frame", "Array": "Array"}
add_module_names = False
python_maximum_signature_line_length = 90
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
highlight_language = "text"
pygments_style, pygments_dark_style = "friendly", "github-dark"

html_theme = "furo"
html_title = "Sfumato"
html_static_path = [str(HERE / "static")]
templates_path = [str(HERE / "templates")]
html_css_files = ["site.css"]
html_js_files = [("../../versions.js", {"defer": "defer"}), ("switcher.js", {"defer": "defer"})]
html_show_sourcelink = html_copy_source = html_show_copyright = False
html_last_updated_fmt = None
html_use_index = html_domain_indices = False
html_theme_options = {
    "top_of_page_buttons": [],
    "light_css_variables": {"color-brand-primary": "#2c5c9e", "color-brand-content": "#2c5c9e"},
    "dark_css_variables": {"color-brand-primary": "#8fb8f0", "color-brand-content": "#8fb8f0"},
}
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
