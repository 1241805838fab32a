"""What was run and what it promises: events, guarantees, accountants, and how much noise a budget buys."""
