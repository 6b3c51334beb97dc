from django.db import models

from ai_eval.models.runs import Run


class Answer(models.Model):
    """The row of one question and trial in a run, planned at launch and filled once.

    `tool_calls` null is no record; `[]` says that the agent called nothing. `score` is composite
    (0 to 5). `cost` null is an unknown price, in US dollars otherwise.
    """

    class Outcome(models.TextChoices):
        WAITING = "", "Waiting"
        SCORED = "scored", "Scored"
        UNSCORED = "unscored", "Unscored"
        EMPTY = "empty", "Empty response"
        TARGET_ERROR = "target_error", "Target error"
        PROVIDER_ERROR = "provider_error", "Provider error"
        GRADE_ERROR = "grade_error", "Grade error"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="answers")
    question_id = models.CharField(max_length=200)
    trial = models.PositiveSmallIntegerField(default=1)
    position = models.PositiveIntegerField()
    question = models.JSONField()

    asked = models.BooleanField(default=False)
    response = models.TextField(null=True, blank=True)  # noqa: DJ001 - null and empty are two facts
    tool_calls = models.JSONField(null=True, blank=True)
    ended = models.CharField(max_length=10, blank=True)
    ask_failure = models.CharField(max_length=20, blank=True)
    error = models.TextField(blank=True)
    seconds = models.FloatField(null=True, blank=True)
    model = models.CharField(max_length=200, blank=True)
    attempts = models.JSONField(default=list)
    prompt_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    completion_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    cost = models.FloatField(null=True, blank=True)
    changes = models.JSONField(null=True, blank=True)
    notes = models.JSONField(default=list)

    outcome = models.CharField(max_length=14, choices=Outcome.choices, blank=True, default=Outcome.WAITING)
    score = models.FloatField(null=True, blank=True)
    passed = models.BooleanField(null=True, blank=True)
    failed_required = models.JSONField(default=list)
    degraded = models.BooleanField(default=False)

    class Meta:
        ordering = ["run", "position"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["run", "question_id", "trial"], name="ai_eval_one_answer_a_question_and_trial"
            )
        ]
        indexes = [models.Index(fields=["run", "position"], name="ai_eval_answer_in_order")]

    def __str__(self) -> str:
        return f"{self.question_id} ({self.trial})"


class AnswerTag(models.Model):
    """A tag of the answer's question, as it was at launch: what a run's answers are filtered by."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="tags", db_index=False)
    answer = models.ForeignKey(Answer, on_delete=models.CASCADE, related_name="tags")
    tag = models.CharField(max_length=200)

    class Meta:
        default_permissions = ()
        indexes = [models.Index(fields=["run", "tag", "answer"], name="ai_eval_answers_by_tag")]

    def __str__(self) -> str:
        return self.tag


class Grade(models.Model):
    """One grader's verdict on one answer, with the scale it was given on."""

    class Outcome(models.TextChoices):
        SCORED = "scored", "Scored"
        SKIPPED = "skipped", "Skipped"
        ERRORED = "errored", "Errored"

    answer = models.ForeignKey(Answer, on_delete=models.CASCADE, related_name="grades")
    grader = models.CharField(max_length=200)
    outcome = models.CharField(max_length=8, choices=Outcome.choices)
    score = models.FloatField(null=True, blank=True)
    min_score = models.FloatField()
    max_score = models.FloatField()
    composite = models.FloatField(null=True, blank=True)
    reason = models.TextField(blank=True)
    details = models.JSONField(default=dict)

    model = models.CharField(max_length=200, blank=True)
    prompt_hash = models.CharField(max_length=64, blank=True)
    sent = models.JSONField(default=list)
    raw_reply = models.TextField(null=True, blank=True)  # noqa: DJ001 - null: nothing came
    response_format = models.CharField(max_length=12, blank=True)
    attempts = models.JSONField(default=list)
    prompt_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    completion_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    cost = models.FloatField(null=True, blank=True)
    clamped_from = models.FloatField(null=True, blank=True)
    truncated = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["answer", "pk"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["answer", "grader"], name="ai_eval_one_grade_a_grader_and_answer")
        ]

    def __str__(self) -> str:
        return f"{self.grader}: {self.outcome}"


class WorkItem(models.Model):
    """Engine state of one answer: who holds it and until when. It outlives no run and is no result."""

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        CLAIMED = "claimed", "Claimed"
        DONE = "done", "Done"

    answer = models.OneToOneField(Answer, primary_key=True, on_delete=models.CASCADE, related_name="work")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="work_items")
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    starts = models.PositiveSmallIntegerField(default=0)

    ended_at = models.DateTimeField(
        null=True, blank=True, help_text="By the database's clock; empty for what was taken over."
    )

    class Meta:
        default_permissions = ()
        indexes = [models.Index(fields=["run", "state", "answer"], name="ai_eval_work_to_do")]

    def __str__(self) -> str:
        return f"{self.answer_id}: {self.state}"
