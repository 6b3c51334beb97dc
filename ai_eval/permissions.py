"""Who may do what: four permissions, which stand for tasks and not for tables.

They are declared on `EvalSettings` and given to groups by a migration; no model has Django's own add,
change, delete and view permissions, so that a site has one place where each right is given.
"""

from typing import Any

OPERATE = "ai_eval.operate"
"""See targets, runs and results; launch, cancel and resume runs."""
ADMINISTER = "ai_eval.administer"
"""Settings, targets, datasets and questions; delete runs."""
ANNOTATE = "ai_eval.annotate"
"""Label answers."""
VALIDATE_JUDGES = "ai_eval.validate_judges"
"""Judges: their models and prompts, and their validation against labels."""

READ = (OPERATE, ADMINISTER)
"""Either lets a user see targets, datasets and runs."""
RUN = READ
"""Either lets a user launch, cancel and resume."""
ANY = (OPERATE, ADMINISTER, ANNOTATE, VALIDATE_JUDGES)


def allowed(user: Any, *permissions: str) -> bool:
    """Whether the user has at least one of these permissions."""
    return any(user.has_perm(each) for each in permissions)
