import codecs
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ai_eval.datasets.replies import Replies, Reply, load_replies
from ai_eval.errors import DatasetError

HEADER = "question_id,trial,response,tool_calls\n"


@pytest.fixture
def load(put):
    def write_and_load(name: str, content: str | bytes) -> Replies:
        put(name, content)
        return load_replies(name)

    return write_and_load


@pytest.fixture
def problems(load):
    def write_and_fail(name: str, content: str | bytes) -> list[str]:
        with pytest.raises(DatasetError) as caught:
            load(name, content)
        return caught.value.problems

    return write_and_fail


def told(name: str) -> list[str]:
    """The problems of a file; none when it can be read."""
    try:
        load_replies(name)
    except DatasetError as error:
        return error.problems
    return []


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_a_jsonl_file_is_read(load):
    calls = [{"function_name": "renew", "arguments": {"card": "C-1"}}]
    replies = load(
        "r.jsonl",
        lines(
            {"question_id": "a", "response": "one"},
            {"question_id": "a", "trial": 2, "response": "two", "tool_calls": calls},
        ),
    )
    assert replies.get("a", 1) == Reply("one", None)
    assert replies.get("a", 2) == Reply(
        "two", [{"plugin_id": "renew", "function_name": "renew", "arguments": {"card": "C-1"}}]
    )
    assert replies.get("a", 3) is None
    assert replies.get("b", 1) is None


def test_a_csv_file_is_read(load):
    replies = load("r.csv", HEADER + 'a,1,"Hello, ""you""\nthere",\nb,2,x,"[{""name"": ""renew""}]"\n')
    assert replies.get("a", 1) == Reply('Hello, "you"\nthere', None)
    assert replies.get("b", 2) == Reply(
        "x", [{"plugin_id": "renew", "function_name": "renew", "arguments": {}}]
    )


def test_an_empty_record_is_not_an_absent_one_in_csv(load):
    replies = load("r.csv", HEADER + "a,1,x,\nb,1,x,[]\nc,1,x,  \nd,1,x,null\n")
    assert [replies.get(id, 1).tool_calls for id in "abcd"] == [None, [], None, None]


def test_an_empty_record_is_not_an_absent_one_in_jsonl(load):
    replies = load(
        "r.jsonl",
        lines(
            {"question_id": "a", "response": "x"},
            {"question_id": "b", "response": "x", "tool_calls": []},
            {"question_id": "c", "response": "x", "tool_calls": None},
            {"question_id": "d", "response": "x", "tool_calls": ""},
            {"question_id": "e", "response": "x", "tool_calls": "[]"},
        ),
    )
    assert [replies.get(id, 1).tool_calls for id in "abcde"] == [None, [], None, None, []]


def test_no_response_is_not_an_empty_one(load):
    replies = load(
        "r.jsonl", lines({"question_id": "a", "response": None}, {"question_id": "b", "response": ""})
    )
    assert (replies.get("a", 1).response, replies.get("b", 1).response) == (None, "")
    assert load("r.csv", "question_id,response\na,\n").get("a", 1).response == ""


@pytest.mark.parametrize(
    "call",
    [
        {
            "id": "1",
            "type": "function",
            "function": {"name": "renew", "arguments": '{"card": "C-1", "days": 14}'},
        },
        {"function": {"name": "renew", "arguments": {"card": "C-1", "days": 14}}},
        {"name": "renew", "arguments": json.dumps('{"card": "C-1", "days": 14}')},
        {"plugin_id": "renew", "function_name": "renew", "arguments": {"card": "C-1", "days": 14}},
    ],
)
def test_calls_in_openai_s_form_and_in_our_own_are_the_same_record(load, call: dict):
    expected = [{"plugin_id": "renew", "function_name": "renew", "arguments": {"card": "C-1", "days": 14}}]
    record = {"question_id": "a", "response": "x", "tool_calls": [call]}
    assert load("r.jsonl", lines(record)).get("a", 1).tool_calls == expected
    cell = json.dumps([call]).replace('"', '""')
    assert load("r.csv", HEADER + f'a,1,x,"{cell}"\n').get("a", 1).tool_calls == expected


def test_what_looks_like_a_credential_is_not_kept(load):
    record = {
        "question_id": "a",
        "response": "x",
        "tool_calls": [{"name": "log_in", "arguments": {"password": "hunter2"}}],
    }
    assert "hunter2" not in repr(load("r.jsonl", lines(record)))


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: codecs.BOM_UTF8 + text.encode(),
        lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
        lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
        lambda text: text.replace("\n", "\r\n").encode(),
    ],
)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_byte_order_marks_separators_and_line_ends_of_spreadsheets_are_read(load, encode, separator: str):
    text = "question_id,trial,response\na,1,Grüße 😀\nb,2,x\n".replace(",", separator)
    replies = load("r.csv", encode(text))
    assert (replies.get("a", 1).response, replies.get("b", 2).response) == ("Grüße 😀", "x")


def test_the_header_decides_about_the_separator_and_not_the_cells(load):
    text = 'question_id;response\na;"one, two, three; four"\nb;x,y,z\n'
    replies = load("r.csv", text)
    assert (replies.get("a", 1).response, replies.get("b", 1).response) == ("one, two, three; four", "x,y,z")


def test_columns_may_stand_in_any_order_and_be_quoted(load):
    assert load("r.csv", '"response" ; "trial";question_id\nx;3;a\n'.replace(" ", "")).get("a", 3)


def test_lines_with_nothing_in_them_are_passed_over(load):
    assert load("r.csv", "\n" + HEADER + "\na,1,x,\n,,,\n\n").get("a", 1)
    assert load("r.jsonl", "\n" + lines({"question_id": "a", "response": "x"}) + "  \n").get("a", 1)


def test_a_question_id_and_a_trial_may_be_written_as_numbers(load):
    replies = load(
        "r.jsonl", '{"question_id": 1, "response": "x"}\n{"question_id": 1.50, "trial": "2", "response": "y"}'
    )
    assert (replies.get("1", 1).response, replies.get("1.50", 2).response) == ("x", "y")
    assert load("r.csv", "question_id,response\n0010,x\n").get("0010", 1)


def test_a_response_of_two_megabytes_is_read(load):
    text = "é" * 2_000_000
    assert load("r.csv", f'question_id,response\na,"{text}"\n').get("a", 1).response == text


def test_unstorable_signs_are_replaced_and_all_else_stays(load):
    text = "%s {0} {{ x }} $question <script> =1+1 \u2028 \x85"
    replies = load("r.jsonl", lines({"question_id": "a", "response": f"\x00\ud83d{text}"}))
    assert replies.get("a", 1).response == f"␀�{text}"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "r.csv, line 1: the header has none of the columns question_id, trial, response, tool_calls"),
        ("a,b\n1,2\n", "r.csv, line 1: the header has none of the columns"),
        (HEADER, "r.csv: holds no reply"),
        ("question_id,trial\na,1\n", 'r.csv, line 1: column "response" is missing'),
        (
            "question_id,respnse\na,1\n",
            'r.csv, line 1: column "respnse" is not known, did you mean response?',
        ),
        ("question_id,response,x\na,1,2\n", 'column "x" is not known; known are question_id, trial'),
        ("question_id,response,response\na,1,2\n", 'column "response" stands there twice'),
        (HEADER + "a,1,x\n", "r.csv, line 2: has 3 cells, must have 4 as the header"),
        (HEADER + "a,1,x,,\n", "r.csv, line 2: has 5 cells, must have 4"),
        (HEADER + ",1,x,\n", 'r.csv, line 2: "question_id" is empty'),
        (HEADER + "a,0,x,\n", 'r.csv, line 2: "trial" is "0", must be a whole number from 1 to 100'),
        (HEADER + "a,1.0,x,\n", '"trial" is "1.0"'),
        (HEADER + "a,-1,x,\n", '"trial" is "-1"'),
        (HEADER + "a,²,x,\n", '"trial" is "²"'),
        (HEADER + "a," + "9" * 5000 + ",x,\n", '"trial" is "999'),
        (HEADER + "a,1,x,\na,1,y,\n", 'line 3: question "a", trial 1 has a reply already, in line 2'),
        (HEADER + "a,1,x,\na,,y,\n", 'line 3: question "a", trial 1 has a reply already, in line 2'),
        (HEADER + 'a,1,"two\nlines",\nb,x,y,\n', 'r.csv, line 4: "trial" is "x"'),
        (HEADER + "a,1,x,renew\n", 'line 2: "tool_calls": column 1: expecting value'),
        (
            HEADER + "a,1,x,{}\n",
            '"tool_calls": tool_calls is dict, not a list of calls; write a list of calls',
        ),
        (HEADER + "a,1,x,[5]\n", '"tool_calls": tool call 1 is int, not a mapping'),
        (HEADER + "a,1,x,[{}]\n", '"tool_calls": tool call 1 has no name'),
        (HEADER + 'a,1,"x"y,\n', "a quote inside a quoted cell is written twice"),
        (HEADER + 'a,1,"x\n', "a quote inside a quoted cell is written twice"),
        ("question_id,response\na,café\n".encode("cp1252"), "r.csv, line 2: byte 0xe9 is not UTF-8"),
        ("question_id,response\n".encode("utf-16-le"), "holds a NUL byte, as UTF-16 without"),
    ],
)
def test_a_bad_csv_file_is_told_by_line(problems, content, said: str):
    found = problems("r.csv", content)
    assert any(said in problem for problem in found), found


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "r.jsonl: holds no reply"),
        ("{}\n", 'r.jsonl, line 1: key "question_id" is missing'),
        ('{"question_id": "a"}', 'key "response" is missing; null says that there is none'),
        ("[]", "r.jsonl, line 1: is a list, must be an object with question_id"),
        ("\n{'a': 1}", "r.jsonl, line 2: column 2: expecting property name"),
        (
            '{"question_id": "a", "response": "x", "response": "y"}',
            'line 1: an object has the key "response" twice',
        ),
        ('{"question_id": "a", "response": "x"} {}', "line 1: column 39: extra data"),
        ('{"question_id": "a", "respons": "x"}', 'key "respons" is not known, did you mean response?'),
        ('{"question_id": true, "response": "x"}', '"question_id" is'),
        ('{"question_id": null, "response": "x"}', '"question_id" is null'),
        ('{"question_id": "a", "response": false}', '"response" is false, must be text, or null'),
        ('{"question_id": "a", "response": 0}', '"response" is 0, must be text'),
        ('{"question_id": "a", "response": []}', '"response" is a list, must be text'),
        ('{"question_id": "a", "response": "x", "trial": true}', '"trial" is true'),
        ('{"question_id": "a", "response": "x", "trial": 1.5}', '"trial" is 1.5'),
        ('{"question_id": "a", "response": "x", "trial": 101}', '"trial" is 101'),
        ('{"question_id": "a", "response": "x", "tool_calls": {}}', "not a list of calls"),
        ('{"question_id": "a", "response": NaN}', "NaN is no number that JSON knows"),
        (
            '{"question_id": "a", "response": "x"}\n{"question_id": "a", "trial": 1, "response": "y"}',
            "in line 1",
        ),
    ],
)
def test_a_bad_jsonl_file_is_told_by_line(problems, content: str, said: str):
    found = problems("r.jsonl", content)
    assert any(said in problem for problem in found), found


def test_all_problems_are_told_up_to_twenty(problems):
    found = problems("r.csv", HEADER + "a,x,y,\n" * 50)
    assert len(found) == 21
    assert found[-1] == "and 30 more"


@pytest.mark.parametrize("reference", ["../r.csv", "r.yaml", "missing.jsonl", ""])
def test_what_is_no_reply_file_there_is_told(put, reference: str):
    put("r.yaml", "x")
    with pytest.raises(DatasetError):
        load_replies(reference)


@given(st.text(max_size=80) | st.text('a,;"\n\r\tquestion_idresponse', max_size=80))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_stands_in_a_file_it_is_replies_or_told(put, text: str):
    for name, content in (("r.csv", text), ("s.csv", HEADER + text), ("r.jsonl", text)):
        put(name, content.encode("utf-8", "surrogatepass"))
        assert all(problem.startswith((name, "and ")) for problem in told(name))


@given(
    st.dictionaries(
        st.text("abc1", min_size=1, max_size=4), st.text(st.characters(codec="utf-8")), min_size=1
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_response_comes_out_of_csv_as_it_went_in(put, responses: dict[str, str]):
    import csv
    import io

    from ai_eval.text import NUL_MARK

    responses = {id: text.replace("\x00", NUL_MARK) for id, text in responses.items()}
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
    writer.writerow(["question_id", "response"])
    writer.writerows(responses.items())
    put("r.csv", stream.getvalue())
    replies = load_replies("r.csv")
    assert {id: replies.get(id, 1).response for id in responses} == responses
