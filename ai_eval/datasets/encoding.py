"""Bytes to text: UTF-8, or what a byte-order mark says. Nothing is guessed."""

import codecs

from ai_eval.errors import DatasetError

ADVICE = "Save the file as UTF-8 (in Excel: “CSV UTF-8”)."

_MARKS = (
    # UTF-32's little-endian mark begins with that of UTF-16: it has to be asked first.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(raw: bytes, name: str) -> str:
    """The text of a file without its byte-order mark.

    DatasetError names the file, the line and the byte that is in no way UTF-8. Line ends stay as they came.
    """
    encoding = next((encoding for mark, encoding in _MARKS if raw.startswith(mark)), "utf-8")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding != "utf-8":
            raise DatasetError(
                f"{name}: begins like {encoding.removesuffix('-sig').upper()} and is not. {ADVICE}"
            ) from error
        line = raw.count(b"\n", 0, error.start) + 1
        raise DatasetError(
            f"{name}, line {line}: byte 0x{raw[error.start]:02x} is not UTF-8. {ADVICE}"
        ) from error
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        raise DatasetError(
            f"{name}, line {line}: holds a NUL byte, as UTF-16 without a byte-order mark does. {ADVICE}"
        )
    return text
