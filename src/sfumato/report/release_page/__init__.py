"""report.html, the page of a release: first screen, data, fine print."""
