from datetime import date

import pytest

from evalsite.riverside import library
from evalsite.riverside.library import LibraryError
from evalsite.riverside.models import Fee, Hold, Loan, Patron
from evalsite.riverside.shelves import load_library

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


def test_only_the_readers_own_open_fee_can_be_paid():
    library.pay_fee("R-1003", "F-31")
    assert set(Fee.objects.values_list("reference", "status")) == {("F-31", "paid"), ("F-32", "open")}
    for card, reference in (("R-1003", "F-31"), ("R-1003", "F-32"), ("R-1003", "F-99")):
        with pytest.raises(LibraryError):
            library.pay_fee(card, reference)


def test_an_address_is_changed_for_one_card():
    library.change_email("R-1004", "dana.levi@example.net")
    assert Patron.objects.get(card="R-1004").email == "dana.levi@example.net"


def test_a_look_up_tells_how_many_copies_are_in():
    assert "1 of 2 copies are in" in library.find_book("The Left Hand of Darkness")
    with pytest.raises(LibraryError):
        library.find_book("No Such Book")


def test_an_unknown_card_is_told():
    with pytest.raises(LibraryError, match="there is no card R-9999"):
        library.change_email("R-9999", "x@example.org")


def test_loading_again_restores_the_start_state():
    before = list(Loan.objects.values_list("copy__barcode", "due", "renewals"))
    library.renew_loan("R-1001", "B-104")
    load_library()
    assert list(Loan.objects.values_list("copy__barcode", "due", "renewals")) == before
