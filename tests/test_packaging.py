"""The wheel in a bare site: nothing of this checkout may be needed."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("ai_eval", "ai_eval_state")
APPS = '    "ai_eval",\n    "ai_eval_state",\n'
CACHES = shutil.ignore_patterns("__pycache__", "*.pyc")


def run(*command: str | Path, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """A command that ended with that code. Nothing of its environment leads back to this checkout."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")}
    done = subprocess.run(command, cwd=cwd, env=kept, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a wheel is made of, away from the checkout: a build leaves files beside its source."""
    directory = tmp_path_factory.mktemp("source")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, directory / package, ignore=CACHES)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, directory / name)
    return directory


@pytest.fixture(scope="module")
def files(source: Path) -> set[str]:
    """The packages' own files, listed before a build adds to them."""
    return {
        path.relative_to(source).as_posix()
        for package in PACKAGES
        for path in (source / package).rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def wheel(source: Path, files: set[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wheel")
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation")
    run(*build, "--outdir", directory, source, cwd=directory)
    (built,) = directory.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a virtual environment with the wheel, and with the dependencies installed here."""
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=environment)
    (site_packages,) = (environment / "lib").glob("python*/site-packages")
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


@pytest.fixture(scope="module")
def site(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new site whose only addition is the two applications."""
    directory = tmp_path_factory.mktemp("site")
    run(python, "-m", "django", "startproject", "bare", directory, cwd=directory)
    settings = directory / "bare" / "settings.py"
    before = settings.read_text()
    settings.write_text(before.replace("INSTALLED_APPS = [\n", f"INSTALLED_APPS = [\n{APPS}"))
    assert settings.read_text() != before
    run(python, "manage.py", "migrate", "--verbosity", "0", cwd=directory)
    return directory


def test_the_wheel_holds_every_file_of_the_two_applications(wheel: Path, files: set[str]):
    assert "ai_eval/schemas/runs.schema.json" in files
    assert files - set(zipfile.ZipFile(wheel).namelist()) == set()


def test_the_wheel_holds_nothing_of_the_reference_site(wheel: Path, files: set[str]):
    others = set(zipfile.ZipFile(wheel).namelist()) - files
    assert {name.split("/")[0].partition("-")[0] for name in others} == {"django_ai_eval"}


def test_a_bare_site_runs_on_the_wheel_and_not_on_the_checkout(python: Path, site: Path):
    where = run(python, "-c", "import ai_eval; print(ai_eval.__file__)", cwd=site)
    assert where.stdout.startswith(str(python.parent.parent))


def test_a_bare_site_is_only_warned_of_its_sqlite_settings(python: Path, site: Path):
    told = run(python, "manage.py", "check", cwd=site).stderr
    assert re.findall(r"\((\w+\.[A-Z]\d+)\)", told) == ["ai_eval.W050"]


def test_a_bare_site_needs_no_migrations_of_its_own(python: Path, site: Path):
    told = run(python, "manage.py", "makemigrations", "--check", cwd=site).stdout
    assert told == "No changes detected\n"


def test_a_bare_site_lists_its_graders(python: Path, site: Path):
    assert "format_grader" in run(python, "manage.py", "ai_eval_graders", cwd=site).stdout


def test_a_bare_site_without_a_target_is_told_so(python: Path, site: Path):
    assert "Traceback" not in run(python, "manage.py", "ai_eval_run", cwd=site, code=2).stderr
