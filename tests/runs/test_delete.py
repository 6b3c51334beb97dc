"""Deleting a run takes all of it along, and nothing else."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ai_eval.errors import StateError
from ai_eval.models import Answer, AnswerTag, Grade, Run, WorkItem
from ai_eval.runs.control import delete
from ai_eval.runs.derive import regrade
from ai_eval.runs.launch import launch, prepare
from tests.runs.making import make_target, run_target

pytestmark = pytest.mark.django_db


def test_a_deleted_run_leaves_nothing_of_itself_and_all_of_the_others():
    target = make_target([{"input": "one", "tags": ["a"]}])
    kept, gone = run_target(target), run_target(target)
    delete(gone.pk)
    assert list(Run.objects.all()) == [kept]
    for model in (Answer, AnswerTag, WorkItem):
        assert set(model.objects.values_list("run", flat=True)) == {kept.pk}
    assert set(Grade.objects.values_list("answer__run", flat=True)) == {kept.pk}


def test_an_active_run_is_not_deleted():
    run = launch(prepare(make_target()))
    with pytest.raises(StateError, match=f"run {run.pk} is pending: cancel it first"):
        delete(run.pk)
    assert Answer.objects.filter(run=run).count() == 3


def test_a_run_made_out_of_a_deleted_one_stays():
    source = run_target(make_target())
    derived = regrade(source.pk)
    delete(source.pk)
    derived.refresh_from_db()
    assert derived.source is None


def test_a_run_that_is_gone_already_is_told():
    with pytest.raises(Run.DoesNotExist):
        delete(10**6)


def test_deleting_takes_as_many_queries_for_many_answers_as_for_few():
    few = run_target(make_target(["one"], slug="few"))
    many = run_target(make_target([f"question {n}" for n in range(40)], slug="many"))
    counted = []
    for run in (few, many):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            delete(run.pk)
        counted.append(len(queries))
    assert counted[0] == counted[1]
