from collections.abc import Callable
from pathlib import Path

import pytest

Put = Callable[[str, str | bytes], Path]


@pytest.fixture
def put(tmp_path: Path, settings, db) -> Put:
    """Writes a file into the dataset directory, which is empty at first."""
    settings.AI_EVAL = {**settings.AI_EVAL, "DATASET_PATH": tmp_path}

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
