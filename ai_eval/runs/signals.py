"""`run_completed(sender=Run, run=run)`: sent once a completed run is committed.

A process that dies between sending and noting it makes the reaper send it again: receivers key on
`run.pk`. Cancelled, interrupted and failed runs send nothing.
"""

from django.dispatch import Signal

run_completed = Signal()
