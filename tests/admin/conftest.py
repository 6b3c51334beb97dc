from collections.abc import Callable

import pytest
from django.test import Client

from tests.cast import make_user


@pytest.fixture
def signed_in(db: None) -> Callable[[str], Client]:
    """A client signed in as one of the cast: `signed_in("olga")`."""

    def sign_in(name: str) -> Client:
        client = Client()
        client.force_login(make_user(name))
        return client

    return sign_in
