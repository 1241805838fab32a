"""Rules between columns: structural zeros, feasible rows, repair, functional dependences."""
