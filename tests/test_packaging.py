"""The wheel in a bare site: nothing of this checkout may be needed."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
APPS = '    "ai_eval",\n    "ai_eval_state",\n'


def run(*command: str | Path, cwd: Path) -> str:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DJANGO_SETTINGS_MODULE", "PYTHONPATH", "DATABASE_URL")
    }
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wheel")
    source = directory / "source"
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "ai_eval", "ai_eval_state", "pyproject.toml", "README.md", "LICENSE"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in tracked.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    run(
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        directory,
        source,
        cwd=directory,
    )
    (built,) = directory.glob("*.whl")
    return built


@pytest.mark.slow
def test_the_wheel_holds_schemas_and_types_and_nothing_of_the_reference_site(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()
    assert "ai_eval/schemas/runs.schema.json" in names
    assert "ai_eval/schemas/dataset.schema.json" in names
    assert "ai_eval/py.typed" in names
    assert "ai_eval/migrations/0001_initial.py" in names
    assert {name.split("/")[0].split("-")[0] for name in names} == {
        "ai_eval",
        "ai_eval_state",
        "django_ai_eval",
    }


@pytest.mark.slow
def test_the_wheel_works_in_a_bare_site(wheel: Path, tmp_path: Path):
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    (site_packages,) = (environment / "lib").glob("python*/site-packages")
    # Our dependencies as they are installed here; the wheel alone is unpacked beside them.
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    zipfile.ZipFile(wheel).extractall(site_packages)
    run(python, "-m", "django", "startproject", "bare", tmp_path, cwd=tmp_path)
    settings = tmp_path / "bare" / "settings.py"
    settings.write_text(settings.read_text().replace("INSTALLED_APPS = [\n", f"INSTALLED_APPS = [\n{APPS}"))
    where = run(python, "-c", "import ai_eval; print(ai_eval.__file__)", cwd=tmp_path)
    assert where.startswith(str(environment))
    run(python, "manage.py", "check", cwd=tmp_path)
    run(python, "manage.py", "migrate", "--verbosity", "0", cwd=tmp_path)
    assert (
        run(python, "manage.py", "makemigrations", "--check", cwd=tmp_path).strip() == "No changes detected"
    )
    assert "format_grader" in run(python, "manage.py", "ai_eval_graders", cwd=tmp_path)
