"""Python objects of the custodian's own: they go by a name in files, and a mere name is never run."""

from __future__ import annotations

import pytest

from sfumato.core.custom_objects import (
    CustomObject,
    custom_object_names,
    is_custom_object,
    refuse_missing_objects,
)
from sfumato.errors import PlanError, TableError
from sfumato.privacy.canonical_json import to_jsonable


def twice(values):
    return [2 * value for value in values]


def test_a_function_is_called_and_is_written_down_by_name():
    own = CustomObject.of(twice)
    assert own.call([1, 2]) == [2, 4]
    assert (to_jsonable({"gamma": own}), CustomObject.of(own) is own) == ({"gamma": "own:twice"}, True)
    assert is_custom_object("own:twice") and not is_custom_object("twice") and not is_custom_object(3)


def test_what_goes_wrong_inside_is_told_as_the_custodians_own():
    with pytest.raises(PlanError, match="'twice', which is your own, failed\n  - TypeError"):
        CustomObject.of(twice).call(None)

    def refuse(values):
        raise TableError("no such values")

    with pytest.raises(TableError, match="no such values"):
        CustomObject.of(refuse).call([])


def test_a_mere_name_is_refused():
    assert custom_object_names({"family": {"x": "own:a", "y": "auto"}, "gamma": "own:b", "draws": 5}) == ["a", "b"]
    refuse_missing_objects({"family": "normal", "ranges": (0.5, 2)})
    with pytest.raises(PlanError, match="a, b: a Python object"):
        refuse_missing_objects({"family": {"x": "own:a"}, "gamma": "own:b"})
