import codecs

import pytest

from ai_eval.datasets.encoding import decode
from ai_eval.errors import DatasetError


@pytest.mark.parametrize(
    "raw",
    [
        "é😀".encode(),
        codecs.BOM_UTF8 + "é😀".encode(),
        codecs.BOM_UTF16_LE + "é😀".encode("utf-16-le"),
        codecs.BOM_UTF16_BE + "é😀".encode("utf-16-be"),
        codecs.BOM_UTF32_LE + "é😀".encode("utf-32-le"),
        codecs.BOM_UTF32_BE + "é😀".encode("utf-32-be"),
    ],
)
def test_utf_8_and_what_a_byte_order_mark_says_are_read_without_the_mark(raw: bytes):
    assert decode(raw, "a.yaml") == "é😀"


def test_cp1252_is_not_guessed_but_told_with_its_line_and_byte():
    with pytest.raises(
        DatasetError, match=r"^a\.csv, line 2: byte 0xe9 is not UTF-8\. Save the file as UTF-8"
    ):
        decode("question\ncafé".encode("cp1252"), "a.csv")


def test_utf_16_without_its_mark_is_told_as_what_it_probably_is():
    with pytest.raises(DatasetError, match=r"^a\.csv, line 1: holds a NUL byte, as UTF-16 without"):
        decode("question".encode("utf-16-le"), "a.csv")


def test_a_file_that_begins_like_utf_16_and_is_not_is_refused():
    with pytest.raises(DatasetError, match=r"^a\.csv: begins like UTF-16 and is not"):
        decode(codecs.BOM_UTF16_LE + b"abc", "a.csv")


def test_line_ends_stay_as_they_came():
    assert decode(b"a\r\nb\rc\n", "a.csv") == "a\r\nb\rc\n"
