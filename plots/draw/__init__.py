"""The pictures, one module each: `NAME`, `find` (what it is drawn from) and `draw`.

`find(records)` gives what `draw(pyplot, found, records)` takes, or raises records.Missing.
`notes(found)`, which a module need not have, lists what the picture could have shown as well.
"""
