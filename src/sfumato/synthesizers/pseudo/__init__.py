"""The pseudo posterior: records weighted by their risk, with ranges, in closed form."""
