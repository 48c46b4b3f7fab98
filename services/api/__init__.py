"""The HTTP API: thin routes that decode, submit and encode.

Reading order: problems (how a refusal reads), bodies (what may be sent), auth (who sends), commands (the way in),
then one module a resource, sse (a table live), openapi (how it is told), app (all of it put together).
"""
