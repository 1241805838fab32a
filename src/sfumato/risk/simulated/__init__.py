"""Simulated harness: rerun a method with and without a target person."""

from sfumato.risk.simulated.membership_game import membership_game, to_game
from sfumato.risk.simulated.worlds import CountTablePair, CountWorlds, MethodWorlds, ReleasedBatch
from sfumato.risk.simulated.worlds import Worlds as Game

__all__ = ["CountTablePair", "CountWorlds", "Game", "MethodWorlds", "ReleasedBatch", "membership_game", "to_game"]
