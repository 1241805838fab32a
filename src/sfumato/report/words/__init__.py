"""The words of the pages: sentences that depend on numbers, and a glossary that every page links."""
