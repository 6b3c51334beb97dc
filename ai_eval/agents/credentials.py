"""Which names stand for credentials. A name is told by its words: `author` is none of them."""

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALWAYS = _words(
    "password passwords passwd passphrase passcode passwort kennwort contrasena senha pwd secret secrets "
    "credential credentials authorization bearer jwt otp totp cvv cvc apikey"
)
"""Words that make a credential wherever they stand."""

_HARMLESS_LAST = _words(
    "attempts budget changed changes count counter enabled expired expires expiration expiry field label "
    "length limit max min name policy quota required rule rules size strength type usage used"
)
"""Last words that say something about a credential, and are none."""

_LAST = _words("auth oauth pin cookie cookies")
"""Words that make a credential as the last word."""

_BEFORE_PASS = _words("user db smtp ftp imap mail admin root login proxy redis mysql")
"""Words before a last `pass`, which is one of a library or of an aeroplane otherwise."""

_PAIRS = frozenset(
    f"{first} {last}"
    for last, firsts in {
        "key": "api access private secret signing encryption ssh session auth master service license",
        "id": "session",
        "tokens": "access refresh auth api bearer id session",
        "code": "pin auth verification otp security recovery",
        "number": "pin",
        "header": "auth cookie token",
        "value": "cookie token",
        "string": "cookie token",
        "hash": "token",
    }.items()
    for first in firsts.split()
)
"""Neighbours that make a credential wherever they stand."""

_NOT_A_TOKEN = _words("per max min eos bos pad stop unk mask sep")
"""Words before `token` where a piece of text is meant."""

_ENDINGS = (
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "accesskey",
    "privatekey",
    "secretkey",
    "clientsecret",
    "accesstoken",
    "refreshtoken",
    "authtoken",
    "sessiontoken",
    "sessionid",
    "motdepasse",
)
"""Ends of names without anything between their words."""


@lru_cache(maxsize=5000)
def looks_like_credential(name: str) -> bool:
    """Whether a value under this name is not to be stored or shown."""
    plain = unicodedata.normalize("NFKD", name[:500])
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign) and sign.isprintable())
    words = [word.lower() for word in _WORD.findall(plain)]
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _HARMLESS_LAST:
        return False
    if last == "token":
        return before not in _NOT_A_TOKEN
    if last == "pass":
        return not before or before in _BEFORE_PASS
    return (
        not _ALWAYS.isdisjoint(words)
        or last in _LAST
        or any(f"{first} {second}" in _PAIRS for first, second in pairwise(words))
        or "".join(words).endswith(_ENDINGS)
    )
