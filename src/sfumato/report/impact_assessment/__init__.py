"""Data protection impact assessment (DPIA), filled in from a release."""
