"""The start state of the demo: who has borrowed what."""

from datetime import date
from decimal import Decimal

from django.db import transaction

from evalsite.riverside.models import Book, Copy, Fee, Hold, Loan, Patron

BOOKS = [
    ("978-0-14-143954-9", "Middlemarch", "George Eliot"),
    ("978-0-441-47812-5", "The Left Hand of Darkness", "Ursula K. Le Guin"),
    ("978-0-14-118280-3", "Mrs Dalloway", "Virginia Woolf"),
    ("978-0-06-088328-7", "One Hundred Years of Solitude", "Gabriel García Márquez"),
]
COPIES = [
    ("B-101", "978-0-14-143954-9"),
    ("B-102", "978-0-441-47812-5"),
    ("B-103", "978-0-441-47812-5"),
    ("B-104", "978-0-14-118280-3"),
    ("B-105", "978-0-06-088328-7"),
]
PATRONS = [
    ("R-1001", "Ada Quill", "ada@example.org"),
    ("R-1002", "Bo Marsh", "bo@example.org"),
    ("R-1003", "Chidi Okoro", "chidi@example.org"),
    ("R-1004", "Dana Levi", "dana@example.org"),
    ("R-1005", "Emil Roth", "emil@example.org"),
]
LOANS = [
    ("B-104", "R-1001", date(2026, 3, 6), 0),
    ("B-101", "R-1004", date(2026, 3, 10), 1),
    ("B-105", "R-1005", date(2026, 3, 4), 0),
    ("B-102", "R-1003", date(2026, 3, 9), 0),
]
HOLDS = [("978-0-06-088328-7", "R-1002", date(2026, 2, 20), 1)]
FEES = [
    ("F-31", "R-1003", Decimal("2.50"), "returned five days late"),
    ("F-32", "R-1005", Decimal("12.00"), "a lost copy"),
]


@transaction.atomic
def load_library() -> None:
    """Put the whole library into its start state, whatever it holds now."""
    for model in (Fee, Hold, Loan, Copy, Book, Patron):
        model._default_manager.all().delete()
    books = {
        isbn: Book.objects.create(isbn=isbn, title=title, author=author) for isbn, title, author in BOOKS
    }
    copies = {barcode: Copy.objects.create(barcode=barcode, book=books[isbn]) for barcode, isbn in COPIES}
    patrons = {
        card: Patron.objects.create(card=card, name=name, email=email) for card, name, email in PATRONS
    }
    for barcode, card, due, renewals in LOANS:
        Loan.objects.create(copy=copies[barcode], patron=patrons[card], due=due, renewals=renewals)
    for isbn, card, placed, position in HOLDS:
        Hold.objects.create(book=books[isbn], patron=patrons[card], placed=placed, position=position)
    for reference, card, amount, reason in FEES:
        Fee.objects.create(reference=reference, patron=patrons[card], amount=amount, reason=reason)
