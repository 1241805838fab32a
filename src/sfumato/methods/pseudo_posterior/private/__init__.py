"""The formal pseudo posterior: clipped posteriors on public grids, and noisy statistics."""
