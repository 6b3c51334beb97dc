"""Files of the dataset directory, and documents in YAML or JSON."""

from pathlib import Path
from typing import Any

from ai_eval.datasets.encoding import decode
from ai_eval.datasets.json_text import read_json
from ai_eval.datasets.yaml_text import read_yaml
from ai_eval.errors import DatasetError
from ai_eval.models import effective_settings
from ai_eval.wording import hint, listed, quoted

DOCUMENT_ENDINGS = (".yaml", ".yml", ".json")
DOCUMENT_LIMIT = 10_000_000
"""Bytes of a YAML or JSON document."""


def dataset_directory() -> Path:
    """The configured directory. DatasetError when none is set, or it is not there."""
    configured = str(effective_settings().dataset_path)
    if not configured:
        raise DatasetError(
            'no dataset directory is set: set AI_EVAL["DATASET_PATH"], or dataset_path in the settings'
        )
    directory = Path(configured)
    if not directory.is_dir():
        raise DatasetError(f"the dataset directory {configured} is not there (dataset_path)")
    return directory


def files_with(endings: tuple[str, ...]) -> list[str]:
    """Names of the files of the dataset directory that end so, in order; hidden ones are left out."""
    return sorted(
        path.name
        for path in dataset_directory().iterdir()
        if path.suffix.lower() in endings and not path.name.startswith(".") and path.is_file()
    )


def find_file(reference: str, endings: tuple[str, ...]) -> Path:
    """The file of that name in the dataset directory. DatasetError says what a right name would be."""
    forms = listed(f"NAME{ending}" for ending in endings)
    if not reference:
        raise DatasetError(f"no file is named: write {forms}")
    if "/" in reference or "\\" in reference or "\x00" in reference:
        raise DatasetError(
            f"{quoted(reference)} is a path: write the bare name of a file in the dataset directory"
        )
    if Path(reference).suffix.lower() not in endings:
        raise DatasetError(f"{quoted(reference)} has another ending than {listed(endings)}")
    path = dataset_directory() / reference
    try:
        there = path.is_file()
    except OSError as error:
        raise DatasetError(f"{quoted(reference)} can't be looked up: {error.strerror}") from error
    if not there:
        names = files_with(endings)
        known = f"; there are {listed(names)}" if names else "; there is no such file at all"
        raise DatasetError(
            f"{reference}: there is no such file in {path.parent}{hint(reference, names) or known}"
        )
    return path


def read_file(path: Path, limit: int, name: str = "") -> str:
    """The text of a file, at most `limit` bytes. `name` stands for it in messages."""
    name = name or path.name
    try:
        with path.open("rb") as file:
            raw = file.read(limit + 1)
    except OSError as error:
        raise DatasetError(f"{name}: can't be read: {error.strerror}") from error
    if len(raw) > limit:
        raise DatasetError(f"{name}: is larger than {limit:,} bytes")
    return decode(raw, name)


def read_document(path: Path, name: str = "") -> Any:
    """The document of a file: strict JSON where its name ends in .json, else strict YAML."""
    name = name or path.name
    text = read_file(path, DOCUMENT_LIMIT, name)
    return read_json(text, name) if path.suffix.lower() == ".json" else read_yaml(text, name)
