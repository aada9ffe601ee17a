"""The pictures of ideas, one module each: what lies where, as the project's own code says.

`NAME`; `PROBES`, whose answers it is drawn from; `data(answers, records)` picks what it shows out of
them: plain numbers and texts, which are kept beside the picture; `draw(pyplot, data)`.
"""
