"""A page to read the API and to try it, and the document itself.

Swagger UI is served from here, from the files of its package. That knows OpenAPI 3.0 only, so it is shown the document
in those words; the document at /docs/openapi.json is 3.1.
"""

from typing import Any, cast

from litestar import Request
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin, SwaggerRenderPlugin
from litestar.static_files import create_static_files_router  # pyright: ignore[reportUnknownVariableType]
from swagger_ui_bundle import swagger_ui_path

from services.api.openapi import document

ASSETS = "/assets/swagger"


class _Json(JsonRenderPlugin):
    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        return cast(Any, super()).render(request, _document_of(request))


class _Page(SwaggerRenderPlugin):
    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        return cast(Any, super()).render(request, in_words_of_30(_document_of(request)))


def _document_of(request: Request[Any, Any, Any]) -> dict[str, Any]:
    """Made at the first look, and then kept: it does not change while a process runs."""
    state = request.app.state
    if "document" not in state:
        state.document = document(request.app)
    return state.document


def in_words_of_30(schema: Any) -> Any:
    """The document for a viewer that knows OpenAPI 3.0 only: the same, but for how null, const and version are said."""
    if isinstance(schema, list):
        return [in_words_of_30(each) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return "3.0.3" if schema == "3.1.0" else schema
    told: dict[str, Any] = {name: in_words_of_30(each) for name, each in cast("dict[str, Any]", schema).items()}
    for choice in ("anyOf", "oneOf"):
        kinds = told.get(choice)
        if isinstance(kinds, list) and {"type": "null"} in kinds:
            left: list[Any] = [kind for kind in cast("list[Any]", kinds) if kind != {"type": "null"}]
            del told[choice]
            told |= {"nullable": True} | (left[0] if len(left) == 1 and "$ref" not in left[0] else {choice: left})
    if "const" in told and not isinstance(told["const"], dict):
        told["enum"] = [told.pop("const")]
    return told


def config() -> OpenAPIConfig:
    icon = f"<link rel='icon' type='image/png' href='{ASSETS}/favicon-32x32.png'>"
    page = _Page(
        js_url=f"{ASSETS}/swagger-ui-bundle.js",
        css_url=f"{ASSETS}/swagger-ui.css",
        standalone_preset_js_url=f"{ASSETS}/swagger-ui-standalone-preset.js",
        favicon=icon,
        path="/",
    )
    return OpenAPIConfig(
        title="Croupier", version="1", path="/docs", render_plugins=[page, _Json(path="/openapi.json")]
    )


assets = create_static_files_router(path=ASSETS, directories=[str(swagger_ui_path)], include_in_schema=False)
