"""The release on disk: bundle, report, and the check that both still say what was released."""
