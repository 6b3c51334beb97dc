"""The whole library by natural keys, to compare it before and after."""

from collections.abc import Iterable
from typing import Any

from evalsite.riverside.models import Book, Copy, Fee, Hold, Loan, Patron

FIELDS: dict[type, tuple[str, ...]] = {
    Book: ("isbn", "title", "author"),
    Copy: ("barcode", "book__isbn"),
    Patron: ("card", "name", "email"),
    Loan: ("copy__barcode", "patron__card", "due", "renewals", "returned"),
    Hold: ("book__isbn", "patron__card", "status", "position", "placed"),
    Fee: ("reference", "patron__card", "amount", "reason", "status"),
}


def library_state() -> set[tuple[Any, ...]]:
    """One entry for each row: the model's name and all that the library knows of it."""
    rows: Iterable[tuple[Any, ...]] = (
        (model.__name__, *row)
        for model, fields in FIELDS.items()
        for row in model.objects.values_list(*fields)  # type: ignore[attr-defined]
    )
    return set(rows)
