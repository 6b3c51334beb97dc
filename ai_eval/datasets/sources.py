"""The sources that come along: files of one directory, and the database."""

from ai_eval.datasets.base import DatasetSource, LoadedDataset
from ai_eval.datasets.files import DOCUMENT_ENDINGS, files_with, find_file, read_document
from ai_eval.datasets.rows import validate_rows
from ai_eval.errors import DatasetError
from ai_eval.models import Dataset
from ai_eval.wording import hint, listed, quoted


class FileSource(DatasetSource):
    """A reference is the bare name of a `.yaml`, `.yml` or `.json` file in `dataset_path`."""

    id = "file"
    label = "File"

    def references(self) -> list[tuple[str, str]]:
        return [(name, name) for name in files_with(DOCUMENT_ENDINGS)]

    def load(self, reference: str) -> LoadedDataset:
        path = find_file(reference, DOCUMENT_ENDINGS)
        return validate_rows(read_document(path), path.name)


class DatabaseSource(DatasetSource):
    """A reference is the id of a dataset that is kept in the database."""

    id = "database"
    label = "Database"

    def references(self) -> list[tuple[str, str]]:
        return [(dataset.slug, dataset.label or dataset.slug) for dataset in Dataset.objects.all()]

    def load(self, reference: str) -> LoadedDataset:
        dataset = Dataset.objects.filter(slug=reference).first()
        if dataset is None:
            slugs = list(Dataset.objects.order_by("slug").values_list("slug", flat=True))
            known = f"; there are {listed(slugs)}" if slugs else "; there is none at all"
            raise DatasetError(
                f"there is no dataset {quoted(reference)} in the database{hint(reference, slugs) or known}"
            )
        return validate_rows(dataset_document(dataset), f"dataset {quoted(dataset.slug)}")


def dataset_document(dataset: Dataset) -> dict[str, object]:
    """The dataset as a file would hold it."""
    return {
        "label": dataset.label,
        "fixtures": dataset.fixtures,
        "questions": [question.row() for question in dataset.questions.all()],
    }
