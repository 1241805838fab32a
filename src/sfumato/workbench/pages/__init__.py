"""The pages: each draws the values of its view and hands on what was typed."""
