"""Two-stage synthesis as printed: inputs, matching, the hybrid step, and models of the response."""
