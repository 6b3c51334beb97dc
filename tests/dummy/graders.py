"""The two examples of docs/writing-a-grader.md, word for word, and graders that fail in every way."""

from tests.dummy.awkward_graders import AlwaysPass as AlwaysPass
from tests.dummy.house_tone import HouseTone as HouseTone
from tests.dummy.read_only_run import ReadOnlyRun as ReadOnlyRun
