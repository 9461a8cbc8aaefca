# SPDX-License-Identifier: MIT
"""A web service: what the pipeline says while it works, then the result, a JSON object a line. uvicorn examples.host_async:app"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import Body, FastAPI
from fastapi.responses import StreamingResponse

from rocketride_core import QUESTIONS, Entry, Kernel, PipeFile, Question


def make_app(kernel: Kernel, pipe: str | Path | PipeFile) -> FastAPI:
    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        async with kernel.aload(pipe) as app.state.pipeline:
            yield

    app = FastAPI(lifespan=running)

    @app.post("/ask")
    async def ask(question: str = Body(embed=True)) -> StreamingResponse:
        async def lines() -> AsyncIterator[str]:
            packet = QUESTIONS(Question.of(question))
            async with app.state.pipeline.astart(Entry("question"), packet, timeout=120) as run:
                async for event in run:
                    yield json.dumps({"event": event.kind, **event.data}) + "\n"
                yield json.dumps({"result": (await run).to_json()}) + "\n"

        return StreamingResponse(lines(), media_type="application/x-ndjson")

    return app


app = make_app(Kernel(), Path(__file__).parent / "echo.pipe")
