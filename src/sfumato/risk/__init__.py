"""What can be learned about people from a release: in closed form, or measured by attacks."""
