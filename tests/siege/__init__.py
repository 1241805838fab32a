"""The siege: long, seeded attacks that ``make siege`` reruns; each part is a module with ``run(seconds, seed)``."""
