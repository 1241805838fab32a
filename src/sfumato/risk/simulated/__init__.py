"""Simulated harness: rerun a method with and without a target person."""

from sfumato.risk.simulated.build_worlds import Game, membership_game, to_game
from sfumato.risk.simulated.count_worlds import CountTablePair, CountWorlds
from sfumato.risk.simulated.membership_game import ReleasedBatch
from sfumato.risk.simulated.method_worlds import MethodWorlds

__all__ = ["CountTablePair", "CountWorlds", "Game", "MethodWorlds", "ReleasedBatch", "membership_game", "to_game"]
