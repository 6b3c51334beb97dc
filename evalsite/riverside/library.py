"""What the help desk of the library can do. Every function is one transaction, and says what it did."""

from collections.abc import Callable
from datetime import date, timedelta

from django.db import transaction

from evalsite.riverside.models import Book, Fee, Hold, Loan, Patron

TODAY = date(2026, 3, 2)
"""The day on which the library of the demo stands still, so that every run finds the same."""
LOAN_PERIOD = timedelta(days=14)
MAX_RENEWALS = 2


class LibraryError(Exception):
    """The library's rules don't allow it, or it does not know what is meant. The text is for the patron."""


def _patron(card: str) -> Patron:
    patron = Patron.objects.filter(card=card).first()
    if patron is None:
        raise LibraryError(f"there is no card {card}")
    return patron


def find_book(title: str) -> str:
    """Whether a book is in. `title` may be a part of it."""
    book = Book.objects.filter(title__icontains=title).first()
    if book is None:
        raise LibraryError(f"there is no book called {title}")
    copies = book.copies.count()
    out = Loan.objects.filter(copy__book=book, returned=None).count()
    return f"{book.title} (ISBN {book.isbn}): {copies - out} of {copies} copies are in"


@transaction.atomic
def renew_loan(card: str, barcode: str) -> str:
    """Two more weeks, unless somebody else waits for the book or it was renewed twice."""
    loan = (
        Loan.objects.select_for_update()
        .filter(patron=_patron(card), copy__barcode=barcode, returned=None)
        .first()
    )
    if loan is None:
        raise LibraryError(f"card {card} has not borrowed {barcode}")
    waiting = Hold.objects.filter(book__copies=loan.copy, status=Hold.Status.WAITING)
    if waiting.exclude(patron=loan.patron).exists():
        raise LibraryError(f"{loan.copy.book.title} can't be renewed: another reader waits for it")
    if loan.renewals >= MAX_RENEWALS:
        raise LibraryError(f"{loan.copy.book.title} was renewed {MAX_RENEWALS} times already")
    loan.due += LOAN_PERIOD
    loan.renewals += 1
    loan.save(update_fields=["due", "renewals"])
    return f"{loan.copy.book.title} is due on {loan.due:%d %B %Y}"


@transaction.atomic
def place_hold(card: str, isbn: str) -> str:
    """Keep a book for a patron."""
    patron = _patron(card)
    book = Book.objects.filter(isbn=isbn).first()
    if book is None:
        raise LibraryError(f"there is no book with ISBN {isbn}")
    _, created = Hold.objects.get_or_create(
        book=book, patron=patron, status=Hold.Status.WAITING, defaults={"placed": TODAY}
    )
    if not created:
        raise LibraryError(f"card {card} waits for {book.title} already")
    return f"{book.title} is on hold for card {card}"


@transaction.atomic
def pay_fee(card: str, reference: str) -> str:
    """Pay an open fee of this patron."""
    fee = Fee.objects.select_for_update().filter(reference=reference, patron=_patron(card)).first()
    if fee is None:
        raise LibraryError(f"card {card} has no fee {reference}")
    if fee.status != Fee.Status.OPEN:
        raise LibraryError(f"fee {reference} is {fee.status} already")
    fee.status = Fee.Status.PAID
    fee.save(update_fields=["status"])
    return f"fee {reference} of {fee.amount} is paid"


@transaction.atomic
def change_email(card: str, email: str) -> str:
    """A new e-mail address for this patron."""
    patron = _patron(card)
    patron.email = email
    patron.save(update_fields=["email"])
    return f"the address of card {card} is {email}"


TOOLS: dict[str, Callable[..., str]] = {
    "find_book": find_book,
    "renew_loan": renew_loan,
    "place_hold": place_hold,
    "pay_fee": pay_fee,
    "change_email": change_email,
}
