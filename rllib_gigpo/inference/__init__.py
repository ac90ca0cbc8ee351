"""Generation: one contract (:mod:`.engine`), one file per engine behind it."""
