"""The file of a run: it is written whole, and what is finished is kept on the way."""

from __future__ import annotations

from bench.records import recorded


class RecordFile:
    """`words` and `date` name it, unless `out` does; `note` shows a line."""

    def __init__(self, out, words, date, note):
        self.out, self.words, self.date, self.note = out, words, date, note
        self.partial = None  # the path of what is finished
        self.keeps = not (out and recorded.is_written_to(out))

    def path(self, run):
        """Where it goes."""
        return self.out or recorded.RESULTS / recorded.file_name(run["gpu"], self.words, self.date)

    def keep(self, run):
        """Writes what is finished, as an interrupted run beside the record's path: all that is left of
        a run that is killed. Says once that it cannot be written."""
        if run is None or not self.keeps:
            return
        try:
            path = self.path(run)
            self.partial = path.with_name(f"{path.name}.partial")
            recorded.write_json(self.partial, run)
        except OSError as error:
            self.keeps = False
            self.note(f"WARNING: what is finished is not kept on the way: {error}")

    def remove_partial(self):
        """Takes it away."""
        if self.partial:
            self.partial.unlink(missing_ok=True)

    def write(self, run, show):
        """Writes the record and shows it. RuntimeError if it cannot be read again: that has to be known
        now."""
        path = self.path(run)
        recorded.write_json(path, run)
        self.remove_partial()
        show(run)
        print(f"recorded in {path}")
        try:
            if not recorded.is_written_to(path):
                recorded.load_record(path)
        except ValueError as error:
            raise RuntimeError(f"it is kept, but not as it should be: {error}") from error
