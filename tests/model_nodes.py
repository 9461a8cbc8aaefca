# SPDX-License-Identifier: MIT
"""The node behaviours of the executable model, as real nodes; each logs its hooks and handlers on `LOG`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import attrs

from rocketride_core import (
    ANSWERS,
    DOCUMENTS,
    LLM,
    MANY,
    MEMORY,
    ONE,
    OPTIONAL,
    QUESTIONS,
    TABLE,
    TEXT,
    TOOL,
    Answer,
    Arguments,
    Caller,
    Document,
    Instance,
    Lane,
    Node,
    NodeSpec,
    Question,
    Tool,
    ToolError,
    ToolInput,
    hookimpl,
    on,
    serves,
    setting,
)

LANES: dict[str, Lane[Any]] = {lane.name: lane for lane in (TEXT, QUESTIONS, DOCUMENTS, TABLE, ANSWERS)}
LOG: list[tuple[str, str, str]] = []


def make(lane: str, text: str) -> Any:
    return {"questions": Question.of, "answers": Answer, "documents": lambda s: [Document(s)]}.get(lane, str)(text)


def text_of(lane: str, payload: Any) -> str:
    if lane == "questions":
        return str(payload.texts[0])
    if lane == "answers":
        return str(payload.text)
    return str(payload[0].text) if lane == "documents" else str(payload)


def entry_name(instance: Instance) -> str:
    """The names of the entries around, as the model writes them; the outermost has none."""
    flight = instance.flight  # type: ignore[attr-defined]
    return flight.entry.name if flight.parent is not None else ""


@attrs.frozen(kw_only=True)
class Config:
    times: int = setting(1)
    sort: bool = setting(False)
    to: str = setting("")
    at: tuple[str, ...] = setting(())
    on: str = setting("")
    base: bool = setting(False)
    when: str = setting("")
    catch: bool = setting(False)
    lane_name: str = setting("", key="laneName")
    script: list[Any] = setting([])
    return_type: str = setting("")


class Logged(Node[Config]):
    """Logs open, flush and close; subclasses override the `do_` methods."""

    def log(self, instance: Instance, kind: str) -> None:
        control = "*" if instance._control else ""  # type: ignore[attr-defined]
        LOG.append((entry_name(instance), kind, f"{self.id}{control}"))

    @hookimpl
    def begin_global(self) -> None:
        LOG.append(("", "begin", self.id))
        self.do_begin()

    @hookimpl
    def end_global(self) -> None:
        LOG.append(("", "end", self.id))

    @hookimpl
    def open_instance(self, instance: Instance) -> None:
        self.log(instance, "open")
        self.do_open(instance)

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        self.log(instance, "flush")
        self.do_flush(instance)

    @hookimpl
    def close_instance(self, instance: Instance) -> None:
        self.log(instance, "close")
        self.do_close(instance)

    def do_begin(self) -> None: ...
    def do_open(self, instance: Instance) -> None: ...
    def do_flush(self, instance: Instance) -> None: ...
    def do_close(self, instance: Instance) -> None: ...
    def handle(self, instance: Instance, lane: str, payload: str) -> None: ...

    def received(self, lane: str, instance: Instance, payload: Any) -> None:
        text = text_of(lane, payload)
        LOG.append((entry_name(instance), "deliver", f"{self.id} {lane} {text}"))
        self.handle(instance, lane, text)


def send(instance: Instance, lane: str, text: str) -> None:
    instance.emit(LANES[lane], make(lane, text))


def handlers(table: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Methods for a table of lane to the lanes it may cause."""
    body: dict[str, Any] = {}
    for lane, outs in table.items():

        def receive(self: Any, instance: Instance, payload: Any, lane: str = lane) -> None:
            self.received(lane, instance, payload)

        body[f"on_{lane}"] = on(LANES[lane], emits=[LANES[out] for out in outs])(receive)
    return body


def spec(provider: str, title: str, **more: Any) -> NodeSpec:
    return NodeSpec(provider, title=title, **more)


ALL = list(LANES)
SAME = {lane: [lane] for lane in ALL}


class Start(Logged):
    spec = spec("start", "Start", categories=["source"], emits=list(LANES.values()))


class Chat(Logged):
    spec = spec("chat", "Chat", categories=["source"], emits=[QUESTIONS])


class Parts(list[str]): ...


class Numbers(dict[str, int]): ...


class Scopes(dict[str, dict[str, Any]]): ...


class PassBody:
    def handle(self, instance: Instance, lane: str, payload: str) -> None:
        send(instance, lane, payload)


class MarkBody:
    def handle(self: Any, instance: Instance, lane: str, payload: str) -> None:
        times = self.config.times
        for n in range(times):
            send(instance, lane, f"{payload}>{self.id}" + (str(n + 1) if times > 1 else ""))


class UpperBody:
    def handle(self, instance: Instance, lane: str, payload: str) -> None:
        send(instance, "text", payload.upper())


class CollectBody:
    out = "text"

    def handle(self, instance: Instance, lane: str, payload: str) -> None:
        instance.state(Parts).append(payload)

    def do_flush(self: Any, instance: Instance) -> None:
        if parts := instance.state(Parts):
            send(instance, self.out, f"{self.id}({'+'.join(sorted(parts) if self.config.sort else parts)})")


class PromptBody(CollectBody):
    out = "questions"


class BothBody:
    def handle(self, instance: Instance, lane: str, payload: str) -> None:
        send(instance, "text", payload)

    def do_flush(self: Any, instance: Instance) -> None:
        send(instance, "text", f"{self.id}!")


class ConverterBody:
    def handle(self: Any, instance: Instance, lane: str, payload: str) -> None:
        send(instance, self.config.to, payload)


class OpenerBody(UpperBody):
    def do_open(self: Any, instance: Instance) -> None:
        send(instance, "text", self.id)


class FailBody:
    def _at(self: Any, phase: str) -> None:
        if phase in self.config.at:
            raise ValueError(f"{self.id} {phase}")

    def do_begin(self: Any) -> None:
        self._at("begin")

    def do_open(self: Any, instance: Instance) -> None:
        self._at("open")

    def do_flush(self: Any, instance: Instance) -> None:
        self._at("flush")

    def do_close(self: Any, instance: Instance) -> None:
        self._at("close")

    def handle(self: Any, instance: Instance, lane: str, payload: str) -> None:
        if payload == (self.config.on or payload):
            self._at("handler")
        send(instance, "text", payload)
        self._at("after-emit")


class CatcherBody:
    def handle(self: Any, instance: Instance, lane: str, payload: str) -> None:
        try:
            send(instance, "text", payload)
        except BaseException as error:
            if not (self.config.base or isinstance(error, Exception)):
                raise
            instance.respond("caught", TEXT("caught"))
        send(instance, "text", payload + "2")


class LateBody:
    kept: Any = None

    def handle(self: Any, instance: Instance, lane: str, payload: str) -> None:
        if self.config.when == "kept":
            send(self.kept or instance, "text", payload)
            self.kept = instance

    def do_close(self: Any, instance: Instance) -> None:
        if self.config.when == "close":
            send(instance, "text", "late")


class WrongBody:
    def handle(self: Any, instance: Instance, lane: str, payload: str) -> None:
        try:
            send(instance, "answers", payload)
        except Exception:
            if not self.config.catch:
                raise
        send(instance, "text", payload)


class ReportBody:
    def handle(self: Any, instance: Instance, lane: str, payload: str) -> None:
        instance.report(ValueError(f"{self.id}: {payload}"))
        send(instance, "text", payload)


class ResponseBody:
    def handle(self: Any, instance: Instance, lane: str, payload: str) -> None:
        instance.respond(self.config.lane_name or lane, LANES[lane](make(lane, payload)))


class NesterBody:
    def handle(self: Any, instance: Instance, lane: str, payload: str) -> None:
        with instance.nested() as child:
            child.send(TEXT(payload))


class NoNeedsBody:
    def handle(self: Any, instance: Instance, lane: str, payload: str) -> None:
        send(instance, "answers", instance.one(LLM).ask(Question.of(payload)).text)


def node(name: str, base: type[Any], table: Mapping[str, Sequence[str]], made: NodeSpec) -> type[Node[Any]]:
    return type(name, (base, Logged), {"spec": made, "__module__": __name__, **handlers(table)})


TT = {"text": ["text"]}
SIMPLE: list[type[Node[Any]]] = [
    node("Pass", PassBody, SAME, spec("pass", "Pass")),
    node("Mark", MarkBody, SAME, spec("mark", "Mark")),
    node("Upper", UpperBody, TT, spec("upper", "Upper")),
    node("Collect", CollectBody, {lane: ["text"] for lane in ALL}, spec("collect", "Collect")),
    node("Prompt", PromptBody, {lane: ["questions"] for lane in ALL if lane != "answers"}, spec("prompt", "Prompt")),
    node("Both", BothBody, TT, spec("both", "Both")),
    node("Keeper", PassBody, {"questions": ["questions"], "answers": ["answers"]}, spec("keeper", "Keeper")),
    node("Converter", ConverterBody, {"text": ["questions", "documents", "table", "answers"]}, spec("converter", "Converter")),
    node("Opener", OpenerBody, TT, spec("opener", "Opener")),
    node("Fail", FailBody, TT, spec("fail", "Fail")),
    node("Catcher", CatcherBody, TT, spec("catcher", "Catcher", responds=True)),
    node("Late", LateBody, TT, spec("late", "Late")),
    node("Wrong", WrongBody, TT, spec("wrong", "Wrong")),
    node("Report", ReportBody, TT, spec("report", "Report")),
    node("Response", ResponseBody, {lane: [] for lane in ALL}, spec("response", "Response", responds=True)),
    type("Tap", (Logged,), {"spec": spec("tap", "Tap"), "__module__": __name__, **handlers({lane: [] for lane in ALL})}),
    node("Nester", NesterBody, {"text": []}, spec("nester", "Nester")),
    node("NoNeeds", NoNeedsBody, {"questions": ["answers"]}, spec("no_needs", "No Needs")),
]


@attrs.frozen
class Echo:
    node: Any
    instance: Instance
    context_length = 0
    output_length = 0

    def count_tokens(self, text: str, /) -> int:
        return 0

    def ask(self, question: Question, /, *, stop: Sequence[str] = (), on_token: Any = None) -> Answer:
        text = question.texts[0]
        if text == "boom":
            raise ValueError(f"{self.node.id} boom")
        asked = self.instance.state(Numbers)
        asked["n"] = asked.get("n", 0) + 1
        return Answer(f"{self.node.id}#{asked['n']}({text})")


class Llm(Logged):
    spec = spec("llm", "LLM")

    @on(QUESTIONS, emits=[ANSWERS])
    def question(self, instance: Instance, question: Question) -> None:
        self.received("questions", instance, question)

    def handle(self, instance: Instance, lane: str, payload: str) -> None:
        instance.emit(ANSWERS, Echo(self, instance).ask(Question.of(payload)))

    @serves(LLM)
    def chat(self, instance: Instance, caller: Caller) -> Any:
        return Echo(self, instance)


@attrs.frozen
class Scoped:
    values: dict[str, Any]

    def put(self, key: str, value: object, /) -> None:
        self.values[key] = value

    def get(self, key: str, /) -> object:
        return self.values.get(key)

    def keys(self) -> Sequence[str]:
        return list(self.values)

    def clear(self, key: str | None = None, /) -> Sequence[str]:
        return []


class MemoryNode(Logged):
    spec = spec("memory", "Memory")

    @serves(MEMORY)
    def memory(self, instance: Instance, caller: Caller) -> Any:
        return Scoped(instance.state(Scopes).setdefault(caller.run, {}))


class ToolNode(Logged):
    spec = spec("tool", "Tool", emits=[TEXT])

    @hookimpl
    def list_tools(self, instance: Instance) -> Sequence[Tool]:
        schema = {"type": "object"}
        names = ("count", "meet", "alone", "fail", "emit")
        return [Tool(n, n, schema, partial(self.call, n), concurrent=n == "meet") for n in names]

    def call(self, name: str, instance: Instance, arguments: Arguments) -> object:
        if name == "fail":
            raise ValueError(f"{self.id} fail")
        if name == "emit":
            instance.emit(TEXT, "x")
        numbers = instance.state(Numbers)
        numbers["calls"] = numbers.get("calls", 0) + 1
        return str(numbers["calls"] if name == "count" else OVERLAP.get(self.id, 1) if name == "meet" else 1)


OVERLAP: dict[str, int] = {}  # how many calls of one turn a concurrent tool of that component has; the model is told, too


class AgentBody:
    def handle(self: Any, instance: Instance, lane: str, payload: str) -> None:
        send(instance, "answers", self.play(instance, payload))

    def call(self: Any, instance: Instance, arguments: Arguments) -> object:
        return self.play(instance, str(arguments["query"]))

    @hookimpl
    def list_tools(self: Any, instance: Instance) -> Sequence[Tool]:
        return [Tool("run_agent", "run_agent", {"type": "object"}, self.call)]

    def play(self: Any, instance: Instance, question: str) -> str:
        seen: list[str] = []
        for verb, *args in self.config.script:
            last = seen[-1] if seen else ""
            args = [a.replace("$q", question).replace("$last", last) if isinstance(a, str) else a for a in args]
            seen.extend(self.step(instance, verb, args, question))
        return " | ".join(seen)

    def step(self: Any, instance: Instance, verb: str, args: list[Any], question: str) -> list[str]:
        def request(tool: str, text: str) -> tuple[str, dict[str, Any]]:
            return tool, {"query" if tool.endswith(".run_agent") else "data": text.replace("$q", question)}

        match verb:
            case "ask":
                return [instance.one(LLM).ask(Question.of(args[0])).text]
            case "call":
                try:
                    return [shown(instance.tools.call(*request(*args)))]
                except ToolError as error:
                    return [f"!{type(error).__name__}"]
            case "must":
                return [shown(instance.tools.call(*request(*args)))]
            case "all":
                calls = [request(*a) for a in args]
                for name, _ in calls:
                    id, _, tool = name.partition(".")
                    if tool == "meet":
                        OVERLAP[id] = sum(n == name for n, _ in calls)
                return [f"!{type(r).__name__}" if isinstance(r, ToolError) else shown(r) for r in instance.tools.call_all(calls)]
            case "put":
                memory: Any = instance.maybe(MEMORY)
                memory.put(args[0], args[1])
                return []
            case "get":
                memory = instance.maybe(MEMORY)
                return [memory.get(args[0]) or "-"]
            case "report":
                instance.report(ValueError(args[0]))
            case "emit":
                send(instance, "answers", args[0])
                return []
        return [args[0]]


def shown(result: Any) -> str:
    return result["result"] if isinstance(result, dict) else str(result)


AGENTS = [
    node(
        "Agent",
        AgentBody,
        {"questions": ["answers"]},
        spec("agent", "Agent", needs={LLM: OPTIONAL, TOOL: MANY, MEMORY: OPTIONAL}),
    ),
    node(
        "StrictAgent", AgentBody, {"questions": ["answers"]}, spec("strict_agent", "Strict Agent", needs={LLM: ONE, TOOL: MANY})
    ),
]


class ToolPipe(Logged):
    spec = spec("tool_pipe", "Pipeline Tool", emits=[QUESTIONS, DOCUMENTS, TABLE, TEXT, ANSWERS])

    @hookimpl
    def list_tools(self, instance: Instance) -> Sequence[Tool]:
        return [Tool("run_pipe", "run_pipe", {"type": "object"}, self.run, concurrent=True)]

    def run(self, instance: Instance, arguments: Arguments) -> object:
        import json

        data, kind = str(arguments.get("data") or ""), self.config.return_type or "text"
        if not data:
            raise ToolInput("tool_pipe: tool requires a non-empty `data` parameter")
        with instance.nested() as child:
            for lane in self.manifest.outs:
                if child.wants(lane):
                    child.send(lane(make(lane.name, data)))
        result: Any = child.result().checked()
        pieces = [text_of(kind, p) for p in result[LANES[kind]]]
        if not pieces:
            answered = ", ".join(lane.name for lane in result.lanes) or "no lane"
            instance.warn("empty-result", f"nothing was produced on '{kind}'; the pipeline answered on {answered}")
            return ""
        return {"text": "\n\n".join(pieces), "answers": pieces[0]}.get(kind) or json.dumps(pieces, ensure_ascii=False)


NODES: list[type[Node[Any]]] = [Start, Chat, *SIMPLE, Llm, MemoryNode, ToolNode, *AGENTS, ToolPipe]
