"""What is recorded, for the tests that need one record of something."""

from __future__ import annotations

from bench.records import recorded
from notes.tools import readings


def newest_with(names, shape, kind="ladder", folder=recorded.RESULTS):
    """The newest record at that shape in which all of `names` have a result, or None. A ladder has
    to be a finished burst run."""

    def wanted(record):
        if kind == "ladder":
            usual = record["protocol"] == recorded.HEADLINE_PROTOCOL
            if not usual or record["interrupted"] or not recorded.may_show(record, names):
                return False
        fits = recorded.shape_of(record) == tuple(shape)
        return fits and readings.good_names(record).issuperset(names)

    home = recorded.home(folder)
    found = [one for _, one in recorded.all_of_kind(folder, kind) if home.has(one) and wanted(one)]
    return max(found, key=recorded.precedence(found, home), default=None)
