"""The workbench: the whole way of a release in a browser, on the custodian's own machine.

``views`` hold what pages show, as plain values made by the library; ``pages`` only draw them. ``project`` keeps what
was typed, ``jobs`` does long work beside the pages, ``guard`` decides who may ask, and ``server`` starts all of it.
"""
