"""The workbench: from a file to a verified bundle in a browser, on this machine.

``views`` hold what pages show, as plain values made by the library; ``pages`` only draw them. ``project`` keeps what
was typed, ``jobs`` does long work beside the pages, ``guard`` decides who may ask, and ``server`` starts all of it.
"""
