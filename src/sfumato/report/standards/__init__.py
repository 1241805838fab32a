"""A release told in the formats of others: a registry of deployments, Croissant, Frictionless."""
