"""Games: two worlds, with the target and without; a coin picks one; the attacker sees its release and guesses."""

from sfumato.risk.games.count_pair import CountPair, CountTable
from sfumato.risk.games.making import Game, as_game, game
from sfumato.risk.games.playing import Drawn
from sfumato.risk.games.release_game import ReleaseGame

__all__ = ["CountPair", "CountTable", "Drawn", "Game", "ReleaseGame", "as_game", "game"]
