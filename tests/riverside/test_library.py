from concurrent.futures import ThreadPoolExecutor
from datetime import date
from decimal import Decimal
from threading import Barrier

import pytest
from django.db import IntegrityError, connection, transaction

from evalsite.riverside import library
from evalsite.riverside.library import LibraryError
from evalsite.riverside.models import Book, Copy, Fee, Hold, Loan, Patron
from evalsite.riverside.shelves import load_library
from tests.riverside.state import library_state

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _shelves(db) -> None:
    load_library()


def test_a_renewal_adds_two_weeks():
    assert library.renew_loan("R-1001", "B-104") == "Mrs Dalloway is due on 20 March 2026"
    loan = Loan.objects.get(copy__barcode="B-104")
    assert (loan.due, loan.renewals) == (date(2026, 3, 20), 1)


def test_a_renewal_is_refused_while_another_reader_waits():
    with pytest.raises(LibraryError, match="another reader waits"):
        library.renew_loan("R-1005", "B-105")
    assert Loan.objects.get(copy__barcode="B-105").renewals == 0


def test_a_third_renewal_is_refused():
    library.renew_loan("R-1004", "B-101")
    with pytest.raises(LibraryError, match="2 times already"):
        library.renew_loan("R-1004", "B-101")


def test_nobody_renews_what_somebody_else_borrowed():
    with pytest.raises(LibraryError, match="has not borrowed"):
        library.renew_loan("R-1002", "B-104")


def test_a_hold_is_placed_once():
    library.place_hold("R-1002", "978-0-14-143954-9")
    assert (
        Hold.objects.filter(patron__card="R-1002", book__title="Middlemarch", status="waiting").count() == 1
    )
    with pytest.raises(LibraryError, match="already"):
        library.place_hold("R-1002", "978-0-14-143954-9")


def test_a_hold_stands_behind_those_who_wait_already():
    library.place_hold("R-1001", "978-0-06-088328-7")
    library.place_hold("R-1003", "978-0-06-088328-7")
    waiting = Hold.objects.filter(book__isbn="978-0-06-088328-7").order_by("position")
    assert list(waiting.values_list("position", "patron__card")) == [
        (1, "R-1002"),
        (2, "R-1001"),
        (3, "R-1003"),
    ]


def test_a_hold_that_is_ready_is_not_placed_again():
    Hold.objects.update(status=Hold.Status.READY, position=None)
    with pytest.raises(LibraryError, match="already"):
        library.place_hold("R-1002", "978-0-06-088328-7")


def test_a_reader_who_has_the_book_does_not_wait_for_it():
    with pytest.raises(LibraryError, match="has borrowed"):
        library.place_hold("R-1004", "978-0-14-143954-9")
    assert Hold.objects.count() == 1


def test_a_hold_of_the_reader_who_has_the_book_stops_no_renewal():
    Hold.objects.update(patron=Patron.objects.get(card="R-1005"))
    assert "18 March" in library.renew_loan("R-1005", "B-105")


def test_a_cancelled_hold_stops_no_renewal():
    Hold.objects.update(status=Hold.Status.CANCELLED, position=None)
    assert "18 March" in library.renew_loan("R-1005", "B-105")


def test_a_returned_loan_is_not_renewed():
    Loan.objects.filter(copy__barcode="B-104").update(returned=date(2026, 3, 1))
    with pytest.raises(LibraryError, match="has not borrowed"):
        library.renew_loan("R-1001", "B-104")


def test_only_the_readers_own_open_fee_can_be_paid():
    library.pay_fee("R-1003", "F-31")
    assert set(Fee.objects.values_list("reference", "status")) == {("F-31", "paid"), ("F-32", "open")}
    for card, reference in (("R-1003", "F-31"), ("R-1003", "F-32"), ("R-1003", "F-99")):
        with pytest.raises(LibraryError):
            library.pay_fee(card, reference)


def test_an_address_is_changed_for_one_card():
    library.change_email("R-1004", "dana.levi@example.net")
    assert Patron.objects.get(card="R-1004").email == "dana.levi@example.net"


@pytest.mark.parametrize("email", ["", "dana", "dana@", f"{'d' * 250}@example.net", "a@b.example\nBcc: x"])
def test_what_is_no_address_is_refused(email: str):
    with pytest.raises(LibraryError, match="is no e-mail address"):
        library.change_email("R-1004", email)
    assert Patron.objects.get(card="R-1004").email == "dana@example.org"


def test_a_waived_fee_is_not_paid():
    Fee.objects.filter(reference="F-31").update(status=Fee.Status.WAIVED)
    with pytest.raises(LibraryError, match="waived already"):
        library.pay_fee("R-1003", "F-31")


def test_a_look_up_tells_how_many_copies_are_in():
    assert "1 of 2 copies are in" in library.find_book("The Left Hand of Darkness")
    with pytest.raises(LibraryError):
        library.find_book("No Such Book")


def test_an_unknown_card_is_told():
    with pytest.raises(LibraryError, match="there is no card R-9999"):
        library.change_email("R-9999", "x@example.org")


@pytest.mark.parametrize("title", ["", "  "])
def test_a_look_up_without_a_title_finds_nothing(title: str):
    with pytest.raises(LibraryError, match="no title"):
        library.find_book(title)


def test_a_look_up_that_fits_several_books_names_them():
    with pytest.raises(LibraryError, match="One Hundred Years of Solitude or The Left Hand of Darkness"):
        library.find_book("of")


def test_a_change_moves_the_time_stamp():
    before = Loan.objects.get(copy__barcode="B-104").updated_at
    library.renew_loan("R-1001", "B-104")
    assert Loan.objects.get(copy__barcode="B-104").updated_at > before


def test_the_database_itself_refuses_what_can_not_be():
    copy, book, patron = Copy.objects.get(barcode="B-104"), Book.objects.all()[0], Patron.objects.all()[0]
    day = library.TODAY
    impossible = [
        lambda: Loan.objects.create(copy=copy, patron=patron, due=day),
        lambda: Fee.objects.create(reference="F-0", patron=patron, amount=Decimal(0), reason="none"),
        lambda: Hold.objects.bulk_create(
            [Hold(book=book, patron=patron, placed=day, position=place) for place in (7, 8)]
        ),
        lambda: Hold.objects.bulk_create(
            [Hold(book=book, patron=each, placed=day, position=7) for each in Patron.objects.all()[:2]]
        ),
    ]
    for attempt in impossible:
        with pytest.raises(IntegrityError), transaction.atomic():
            attempt()


def test_loading_again_restores_the_start_state():
    before = library_state()
    library.renew_loan("R-1001", "B-104")
    library.place_hold("R-1001", "978-0-441-47812-5")
    library.pay_fee("R-1003", "F-31")
    library.change_email("R-1004", "dana.levi@example.net")
    Patron.objects.get(card="R-1002").delete()
    assert library_state() != before
    load_library()
    assert library_state() == before
    load_library()
    assert library_state() == before


def at_once(calls: list[tuple]) -> list[str]:
    """What each call gave, in threads with connections of their own; a refusal is `refused`."""
    ready = Barrier(len(calls))

    def one(function, *arguments: str) -> str:
        try:
            connection.ensure_connection()
            ready.wait()
            return function(*arguments)
        except LibraryError:
            return "refused"
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(one, *call) for call in calls]]


@pytest.mark.django_db(transaction=True)
def test_renewals_at_the_same_time_stop_at_the_second():
    told = at_once([(library.renew_loan, "R-1001", "B-104")] * 8)
    assert told.count("refused") == 6
    assert Loan.objects.get(copy__barcode="B-104").renewals == 2


@pytest.mark.django_db(transaction=True)
def test_holds_at_the_same_time_get_a_place_each():
    cards = ["R-1001", "R-1003", "R-1004"] * 2
    told = at_once([(library.place_hold, card, "978-0-06-088328-7") for card in cards])
    assert told.count("refused") == 3
    assert sorted(Hold.objects.values_list("position", flat=True)) == [1, 2, 3, 4]
