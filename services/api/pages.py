"""The few pages of the API itself: where one starts, and what a problem's code means."""

from html import escape

from litestar import MediaType, Response, get
from litestar.params import FromPath

from services.api import problems
from services.api.rulebook import codes, meanings

_STYLE = "body{font:16px/1.5 system-ui,sans-serif;max-width:42rem;margin:3rem auto;padding:0 1rem}code{background:#eee}"
_POLICY = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:"}


def _page(title: str, body: str) -> Response[str]:
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title><style>{_STYLE}</style>"
    return Response(f"{head}<h1>{escape(title)}</h1>{body}", media_type=MediaType.HTML, headers=_POLICY)


@get("/", include_in_schema=False, sync_to_thread=False)
def home() -> Response[str]:
    return _page(
        "Croupier",
        "<p>An event-sourced casino backend: every bet, card and payout is an immutable event that can be replayed.</p>"
        "<ul><li><a href=/docs>The API, to read and to try</a>, and as <a href=/docs/openapi.json>OpenAPI 3.1</a>"
        "<li><a href=/problems>What the codes of problems mean</a>"
        "<li><a href=/health/ready>Health</a>, <a href=/metrics>metrics</a> (from this machine only)</ul>",
    )


@get("/problems", include_in_schema=False, sync_to_thread=False)
def all_problems() -> Response[str]:
    """The codes of all problems."""
    return _page("Problems", "<ul>" + "".join(f"<li><a href=/problems/{code}>{code}</a>" for code in codes()) + "</ul>")


@get("/problems/{code:str}", include_in_schema=False, sync_to_thread=False)
def one_problem(code: FromPath[str]) -> Response[str]:
    """What a code means: the page that the `type` of a problem leads to."""
    told = [f"<h2>{escape(where)}</h2><p>{escape(meaning)}</p>" for where, meaning in meanings(code)]
    if not told:
        raise problems.not_found("problem", code[:64])
    return _page(problems.title_of(code), f"<p><code>{escape(code)}</code></p>{''.join(told)}")


HANDLERS = (home, all_problems, one_problem)
