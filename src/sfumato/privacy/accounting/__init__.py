"""Events, guarantees, composition and noise calibration."""
