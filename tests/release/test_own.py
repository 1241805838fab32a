"""Python objects of the custodian's own: they go by a name in files, and a mere name is never run."""

from __future__ import annotations

import pytest

from sfumato.errors import PlanError, TableError
from sfumato.privacy.sealed import plain
from sfumato.release.own import OwnObject, is_own, own_names, refuse_absent


def twice(values):
    return [2 * value for value in values]


def test_a_function_is_called_and_is_written_down_by_name():
    own = OwnObject.of(twice)
    assert own.call([1, 2]) == [2, 4]
    assert (plain({"gamma": own}), OwnObject.of(own) is own) == ({"gamma": "own:twice"}, True)
    assert is_own("own:twice") and not is_own("twice") and not is_own(3)


def test_what_goes_wrong_inside_is_told_as_the_custodians_own():
    with pytest.raises(PlanError, match="'twice', which is your own, failed\n  - TypeError"):
        OwnObject.of(twice).call(None)

    def refuse(values):
        raise TableError("no such values")

    with pytest.raises(TableError, match="no such values"):
        OwnObject.of(refuse).call([])


def test_a_mere_name_is_refused():
    assert own_names({"family": {"x": "own:a", "y": "auto"}, "gamma": "own:b", "draws": 5}) == ["a", "b"]
    refuse_absent({"family": "normal", "ranges": (0.5, 2)})
    with pytest.raises(PlanError, match="a, b: a Python object"):
        refuse_absent({"family": {"x": "own:a"}, "gamma": "own:b"})
