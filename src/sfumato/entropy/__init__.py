"""Entropy of counts, and how much one record can change it.

The entropy of released counts is free post-processing. Releasing an entropy by itself needs its sensitivity: exact
where a closed form or a short search is proved, otherwise the tightest proved bound, and the answer says which.
"""

from __future__ import annotations

from sfumato.entropy.expected_error import EntropyAdvice as EntropyAdvice
from sfumato.entropy.expected_error import advise as advise
from sfumato.entropy.expected_error import epsilon_for_entropy_error as epsilon_for_entropy_error
from sfumato.entropy.sensitivity import Adjacency as Adjacency
from sfumato.entropy.sensitivity import EntropySensitivity as EntropySensitivity
from sfumato.entropy.sensitivity import sensitivity as sensitivity
from sfumato.entropy.values import continuity_bound as continuity_bound
from sfumato.entropy.values import renyi as renyi
from sfumato.entropy.values import shannon as shannon
