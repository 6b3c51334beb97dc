"""What the help desk of the library can do. Every function is one transaction, and says what it did."""

from collections.abc import Callable
from datetime import date, timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max

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


def _locked(**which: str) -> Book | None:
    """The book, locked: a hold placed while a loan of it is renewed waits, and the other way round."""
    return Book.objects.select_for_update(of=("self",)).filter(**which).first()


def find_book(title: str) -> str:
    """Whether a book is in. `title` may be a part of it."""
    books = list(Book.objects.filter(title__icontains=title.strip())) if title.strip() else []
    if not books:
        raise LibraryError(f"there is no book called {title}" if title.strip() else "no title was given")
    if len(books) > 1:
        raise LibraryError(f"{title} may be {' or '.join(book.title for book in books)}")
    (book,) = books
    copies = book.copies.count()
    out = Loan.objects.filter(copy__book=book, returned=None).count()
    return f"{book.title} (ISBN {book.isbn}): {copies - out} of {copies} copies are in"


@transaction.atomic
def renew_loan(card: str, barcode: str) -> str:
    """Two more weeks, unless somebody else waits for the book or it was renewed twice."""
    patron, book = _patron(card), _locked(copies__barcode=barcode)
    loan = Loan.objects.filter(patron=patron, copy__barcode=barcode, returned=None).first()
    if book is None or loan is None:
        raise LibraryError(f"card {card} has not borrowed {barcode}")
    if book.holds.filter(status=Hold.Status.WAITING).exclude(patron=patron).exists():
        raise LibraryError(f"{book.title} can't be renewed: another reader waits for it")
    if loan.renewals >= MAX_RENEWALS:
        raise LibraryError(f"{book.title} was renewed {MAX_RENEWALS} times already")
    loan.due += LOAN_PERIOD
    loan.renewals += 1
    loan.save(update_fields=["due", "renewals", "updated_at"])
    return f"{book.title} is due on {loan.due:%d %B %Y}"


@transaction.atomic
def place_hold(card: str, isbn: str) -> str:
    """Keep a book for a patron, after those who wait for it already."""
    patron, book = _patron(card), _locked(isbn=isbn)
    if book is None:
        raise LibraryError(f"there is no book with ISBN {isbn}")
    if Loan.objects.filter(copy__book=book, patron=patron, returned=None).exists():
        raise LibraryError(f"card {card} has borrowed {book.title}")
    if book.holds.filter(patron=patron, status__in=Hold.OPEN).exists():
        raise LibraryError(f"card {card} waits for {book.title} already")
    last = book.holds.filter(status=Hold.Status.WAITING).aggregate(Max("position"))["position__max"] or 0
    Hold.objects.create(book=book, patron=patron, placed=TODAY, position=last + 1)
    return f"{book.title} is on hold for card {card}"


@transaction.atomic
def pay_fee(card: str, reference: str) -> str:
    """Pay an open fee of this patron."""
    patron = _patron(card)
    fee = Fee.objects.select_for_update().filter(reference=reference, patron=patron).first()
    if fee is None:
        raise LibraryError(f"card {card} has no fee {reference}")
    if fee.status != Fee.Status.OPEN:
        raise LibraryError(f"fee {reference} is {fee.status} already")
    fee.status = Fee.Status.PAID
    fee.save(update_fields=["status", "updated_at"])
    return f"fee {reference} of {fee.amount} is paid"


@transaction.atomic
def change_email(card: str, email: str) -> str:
    """A new e-mail address for this patron."""
    patron = _patron(card)
    patron.email = email
    try:
        patron.clean_fields(exclude=["card", "name"])
    except ValidationError as error:
        raise LibraryError(f"{email or 'nothing'} is no e-mail address") from error
    patron.save(update_fields=["email", "updated_at"])
    return f"the address of card {card} is {email}"


TOOLS: dict[str, Callable[..., str]] = {
    "find_book": find_book,
    "renew_loan": renew_loan,
    "place_hold": place_hold,
    "pay_fee": pay_fee,
    "change_email": change_email,
}
