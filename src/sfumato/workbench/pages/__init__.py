"""Pages drawn in the browser; each shows the values of its view."""
