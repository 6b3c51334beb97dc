"""Which answers a filter finds, and that pages of them hold each answer once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_eval.models import Grade, Run
from ai_eval.runs.browse import (
    LAST_POSITION,
    STATUSES,
    AnswerFilter,
    answer_page,
    matching,
    read_filter,
    read_position,
    status_counts,
    tag_counts,
)
from tests.runs.making import make_target, run_target

QUESTIONS = [
    {"id": "good", "input": "one", "tags": ["easy", "short"]},
    {"id": "raises", "input": "raise", "tags": ["hard"]},
    {"id": "blank", "input": "blank"},
    {"id": "nobody knows", "input": "no record", "tags": ["hard"]},
]


@pytest.fixture
def run(db: None) -> Run:
    """One answer passed, one is a target error, one is empty and fails what is required."""
    graders = ["contains_done", "tool_usage_grader"]
    return run_target(make_target(QUESTIONS, graders=graders, required=["contains_done"]))


def ids(run: Run, **wanted: str) -> list[str]:
    return [row.question_id for row in matching(run, AnswerFilter(**wanted)).order_by("position")]


def test_each_status_finds_its_answers_and_no_others(run: Run):
    found = {status: ids(run, status=status) for status in STATUSES}
    assert found == {
        "failed": ["raises", "blank"],
        "failed_required": ["blank"],
        "errored": ["raises"],
        "empty": ["blank"],
        "degraded": [],
        "unscored": [],
        "passed": ["good", "nobody knows"],
        "waiting": [],
    }


def test_the_counts_of_the_statuses_are_the_numbers_of_answers_that_they_find(run: Run):
    counts = status_counts(run)
    assert counts.pop("all") == 4
    assert counts == {status: len(ids(run, status=status)) for status in STATUSES}


def test_a_grader_is_looked_for_by_what_it_made_of_the_answer(run: Run):
    Grade.objects.filter(answer__run=run, answer__question_id="good", grader="contains_done").update(
        clamped_from=7
    )
    found = {
        graded: ids(run, grader="contains_done", graded=graded)
        for graded in ("below", "reached", "errored", "skipped", "clamped")
    }
    assert found == {
        "below": ["blank"],
        "reached": ["good", "nobody knows"],
        "errored": [],
        "skipped": [],
        "clamped": ["good"],
    }


def test_a_composite_on_the_threshold_reaches_it_whatever_its_rounding(run: Run):
    Grade.objects.filter(answer__run=run, grader="contains_done").update(composite=0.1 + 0.2)
    run.snapshot["pass_threshold"] = 0.3 + 1e-10
    assert "good" in ids(run, grader="contains_done", graded="reached")
    assert ids(run, grader="contains_done", graded="below") == []


def test_a_tag_finds_the_answers_whose_question_has_it(run: Run):
    assert ids(run, tag="hard") == ["raises", "nobody knows"]
    assert ids(run, tag="har") == []
    assert tag_counts(run) == [("hard", 2), ("easy", 1), ("short", 1)]


def test_filters_hold_together(run: Run):
    assert ids(run, tag="hard", status="passed") == ["nobody knows"]


def test_a_page_tells_what_held_an_answer_down_with_required_graders_first(db: None):
    target = make_target(["blank"], graders=["raises_grader", "contains_done"], required=["contains_done"])
    [row] = answer_page(run_target(target), AnswerFilter()).rows
    assert [(line.grader, line.required, line.composite) for line in row.held_down_by] == [
        ("contains_done", True, 0.0),
        ("raises_grader", False, None),
    ]


def test_the_question_of_several_turns_is_shown_by_its_last_one(db: None):
    turns = [{"role": "user", "content": "first"}, {"role": "user", "content": "last"}]
    run = run_target(make_target([{"id": "q", "messages": turns}]))
    assert [row.question for row in answer_page(run, AnswerFilter()).rows] == ["last"]


def test_walking_the_pages_forth_and_back_meets_each_answer_once(db: None):
    run = run_target(make_target([f"question {n}" for n in range(11)], graders=["always_pass"]))
    everything = list(run.answers.order_by("position").values_list("pk", flat=True))
    forth, after = [], None
    while True:
        page = answer_page(run, AnswerFilter(), after=after, size=4)
        forth += [row.answer.pk for row in page.rows]
        if page.after is None:
            break
        after = page.after
    assert forth == everything
    back: list[int] = []
    before: int | None = LAST_POSITION
    while before is not None:
        page = answer_page(run, AnswerFilter(), before=before, size=4)
        back = [row.answer.pk for row in page.rows] + back
        before = page.before
    assert back == everything


def test_the_first_page_has_nothing_before_it_and_the_last_nothing_after(db: None):
    run = run_target(make_target(["one", "two", "three"], graders=["always_pass"]))
    only = answer_page(run, AnswerFilter(), size=3)
    assert (only.before, only.after, only.total) == (None, None, 3)


@given(status=st.sampled_from(["", *STATUSES]), tag=st.text(max_size=20), grader=st.sampled_from(["", "a:b"]))
def test_a_filter_survives_its_own_query_string(status: str, tag: str, grader: str):
    from django.http import QueryDict

    wanted = AnswerFilter(status, grader, "below" if grader else "", tag.replace("\0", ""))
    try:
        query = wanted.query()
    except UnicodeEncodeError:
        assert any("\ud800" <= sign <= "\udfff" for sign in tag)
        return
    assert read_filter(QueryDict(query).dict(), ["a:b"]) == (wanted, [])


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({"status": "lost"}, 'there is no filter "lost", only failed'),
        ({"grade": "nobody:below"}, 'the grade "nobody:below" is none of this run'),
        ({"grade": "known:above"}, 'the grade "known:above" is none of this run'),
        ({"grade": "known"}, 'the grade "known" is none of this run'),
        ({"tag": "a\0b"}, "a tag holds no NUL"),
    ],
)
def test_what_is_no_filter_is_told_and_filters_nothing(query: dict[str, str], problem: str):
    wanted, problems = read_filter(query, ["known"])
    assert wanted == AnswerFilter()
    assert len(problems) == 1
    assert problems[0].startswith(problem)


@pytest.mark.parametrize("given", ["abc", "-1", "1.5", "٣", "99999999999", str(LAST_POSITION + 1), "0x1"])
def test_what_is_no_position_is_told(given: str):
    assert read_position({"after": given}, "after") == (
        None,
        [f'after is "{given}", not the position of an answer'],
    )


def test_a_position_is_read():
    assert read_position({"after": "12"}, "after") == (12, [])
    assert read_position({}, "after") == (None, [])
