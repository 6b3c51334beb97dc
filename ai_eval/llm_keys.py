"""To which hosts a key may go, and how secrets are kept out of texts. No network, no litellm."""

import ipaddress
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import quote, urlsplit

PLACEHOLDER_KEY = "no-key"
"""Sent where no key may go or none is set: without any, a library below would look for one itself."""

REDACTED = "[redacted]"


@dataclass(frozen=True)
class Provider:
    """The environment variables that may hold a provider's key (the first set one counts), and its hosts."""

    keys: tuple[str, ...]
    hosts: tuple[str, ...] = ()


_OPENAI = Provider(("OPENAI_API_KEY",), ("api.openai.com", "eu.api.openai.com", "us.api.openai.com"))
_OLLAMA = Provider(("OLLAMA_API_KEY",), ("ollama.com",))
PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {
        "openai": _OPENAI,
        "custom_openai": _OPENAI,
        "anthropic": Provider(("ANTHROPIC_API_KEY",), ("api.anthropic.com",)),
        "azure": Provider(("AZURE_API_KEY",)),
        "cerebras": Provider(("CEREBRAS_API_KEY",), ("api.cerebras.ai",)),
        "cohere": Provider(("COHERE_API_KEY", "CO_API_KEY"), ("api.cohere.com", "api.cohere.ai")),
        "deepseek": Provider(("DEEPSEEK_API_KEY",), ("api.deepseek.com",)),
        "fireworks_ai": Provider(("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"), ("api.fireworks.ai",)),
        "gemini": Provider(("GEMINI_API_KEY", "GOOGLE_API_KEY"), ("generativelanguage.googleapis.com",)),
        "groq": Provider(("GROQ_API_KEY",), ("api.groq.com",)),
        "hosted_vllm": Provider(("HOSTED_VLLM_API_KEY",)),
        "litellm_proxy": Provider(("LITELLM_PROXY_API_KEY",)),
        "llamafile": Provider(()),
        "lm_studio": Provider(("LM_STUDIO_API_KEY",)),
        "mistral": Provider(("MISTRAL_API_KEY",), ("api.mistral.ai",)),
        "nvidia_nim": Provider(("NVIDIA_NIM_API_KEY",), ("integrate.api.nvidia.com",)),
        "ollama": _OLLAMA,
        "ollama_chat": _OLLAMA,
        "openrouter": Provider(("OPENROUTER_API_KEY", "OR_API_KEY"), ("openrouter.ai",)),
        "perplexity": Provider(("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"), ("api.perplexity.ai",)),
        "together_ai": Provider(("TOGETHERAI_API_KEY",), ("api.together.xyz", "api.together.ai")),
        "xai": Provider(("XAI_API_KEY",), ("api.x.ai",)),
    }
)

SDK_PROVIDERS = frozenset({"openai", "custom_openai", "litellm_proxy", "lm_studio", "llamafile"})
"""Called through the OpenAI client, for which we hold the connections and see each header."""

KEYLESS_PROVIDERS = SDK_PROVIDERS | {
    "anthropic", "deepseek", "groq", "hosted_vllm", "mistral", "ollama", "ollama_chat", "openrouter", "xai",
}  # fmt: skip
"""Those for which a placeholder is known, by test, to keep every secret back. The rest sign requests or
fetch tokens by other ways (clouds), so they are not called at all where no key may go."""


def provider_of(model: str) -> str:
    """The provider that a LiteLLM model string names; one without a prefix is OpenAI's, or Anthropic's."""
    prefix, slash, _ = model.partition("/")
    if slash:
        return prefix
    return "anthropic" if model.startswith("claude") else "openai"


def base_problem(api_base: str) -> str | None:
    """Why an endpoint's address can't be used, or None. An empty one is the provider's own.

    Strict on purpose: two parsers that read one address differently could send a key astray.
    """
    if not api_base:
        return None
    if not re.fullmatch(r"[!-~]+", api_base) or "\\" in api_base:
        return "holds a space, a backslash or a character outside ASCII"
    try:
        parts = urlsplit(api_base)
        port = parts.port
    except ValueError as error:
        return f"is no address: {error}"
    if parts.scheme not in ("http", "https"):
        return "does not begin with http:// or https://"
    if "@" in parts.netloc:
        return "holds a user name; a key comes from the environment"
    if not parts.hostname or port == 0:
        return "names no host, or port 0"
    return None


def host_of(api_base: str) -> str:
    """The host in lower case, without port and final dot."""
    return (urlsplit(api_base).hostname or "").removesuffix(".")


def is_loopback(host: str) -> bool:
    """`localhost`, 127.0.0.0/8 or ::1, in their usual spelling; anything else might be another machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def may_have_key(model: str, api_base: str, key_hosts: Sequence[str] = ()) -> bool:
    """Whether the key of the model's provider may be sent to `api_base`.

    It may to the provider's own host (over https, or with an empty `api_base`), to this machine, and to
    `key_hosts`, which hold `host` or `host:port`.
    """
    if not api_base:
        return True
    if base_problem(api_base):
        return False
    parts, host = urlsplit(api_base), host_of(api_base)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    named = {each.strip().lower().removesuffix(".") for each in key_hosts}
    if is_loopback(host) or host in named or f"{host}:{port}" in named:
        return True
    provider = PROVIDERS.get(provider_of(model))
    return parts.scheme == "https" and provider is not None and host in provider.hosts


def environment_key(provider: str) -> str:
    """The provider's key from the environment, or empty."""
    known = PROVIDERS.get(provider)
    return next((os.environ[name] for name in known.keys if os.environ.get(name)), "") if known else ""


def key_advisory(model: str, api_base: str, key_hosts: Sequence[str] = ()) -> str | None:
    """What to tell whoever launches a run whose model gets no key at its endpoint; None when it may."""
    if base_problem(api_base) or may_have_key(model, api_base, key_hosts):
        return None
    advisory = (
        f"no key is sent to host {host_of(api_base)}: it is neither the provider's own host, "
        "nor loopback, nor in AI_EVAL['KEY_HOSTS']"
    )
    if provider_of(model) not in KEYLESS_PROVIDERS:
        advisory += f"; {provider_of(model)} can't be called without one, so each call of {model} fails"
    return advisory


_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_NO_SECRET = re.compile(r"_HOSTS?$", re.IGNORECASE)
"""Ends of names whose value is none, as AI_EVAL_KEY_HOSTS: where a key may go."""
_SECRET_LENGTH = 6
_SHAPES = (
    (re.compile(r"(?i)\b(bearer\s+)[\w.~+/=*-]{6,}"), rf"\g<1>{REDACTED}"),
    (
        re.compile(
            r"""(?i)((?:api[-_]?key|authorization)["']{0,2}\s{0,3}[:=]\s{0,3}["']{0,2})[\w.~+/=*-]{8,}"""
        ),
        rf"\g<1>{REDACTED}",
    ),
    (re.compile(r"\bsk-(?=[\w*-]{0,200}[\d*])[\w*-]{6,}"), REDACTED),
    (re.compile(r"\b(?:AIza|gsk_|hf_|gh[pousr]_|xai-|pplx-|r8_|xox[abp]-)[\w-]{16,}"), REDACTED),
    (re.compile(r"(://)[^/\s:@]{1,200}:[^/\s@]{1,200}@"), rf"\g<1>{REDACTED}@"),
)


def scrub(text: str) -> str:
    """`text` without the secrets of the environment and without what looks like a key or a bearer token.

    A secret is the value, of six characters or more, of a variable whose name holds KEY, TOKEN, SECRET,
    PASSWORD or CREDENTIAL.
    """
    values = {
        value
        for name, value in os.environ.items()
        if len(value) >= _SECRET_LENGTH and _SECRET_NAME.search(name) and not _NO_SECRET.search(name)
    }
    values |= {quote(value, safe="") for value in values}
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, REDACTED)
    for shape, replacement in _SHAPES:
        text = shape.sub(replacement, text)
    return text
