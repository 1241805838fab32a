"""Games: two worlds, with the target and without; a coin picks one; the attacker sees its release and guesses."""

from sfumato.risk.game.build import Game, as_game, game
from sfumato.risk.game.count_pair import CountPair, CountTable
from sfumato.risk.game.play import Drawn
from sfumato.risk.game.release_game import ReleaseGame

__all__ = ["CountPair", "CountTable", "Drawn", "Game", "ReleaseGame", "as_game", "game"]
