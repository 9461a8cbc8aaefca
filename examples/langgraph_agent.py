# SPDX-License-Identifier: MIT
"""A LangGraph agent that answers from the demo's documents: python examples/langgraph_agent.py "Who founded the observatory?"

`make demo` writes the index that it searches. The model plays a script, so that this runs without a key: put any chat model
of LangChain in its place.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import tools_condition

from rocketride_langgraph import ToolExecutor, pipeline_tools

HERE = Path(__file__).resolve().parent
ABOUT = "Searches the documents of the observatory: history, prices, opening hours, instruments, incidents, minutes."


# --8<-- [start:agent]
def make_agent(model: BaseChatModel, tools: Sequence[BaseTool]) -> Any:
    """A graph of two nodes: the model, and our executor, which runs what the model asks for."""
    executor = ToolExecutor(tools)
    chat = model.bind_tools(executor.tools)

    def think(state: MessagesState) -> dict[str, list[BaseMessage]]:
        return {"messages": [chat.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", think)
    graph.add_node("tools", executor)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile()


# --8<-- [end:agent]


class ScriptedModel(BaseChatModel):
    """Plays a model: it looks first, with the first tool that it has, and then quotes what it read."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(one) for one in tools], **kwargs)

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            answer = AIMessage(quoted(last))
        else:
            function = kwargs["tools"][0]["function"]
            [argument] = function["parameters"]["required"]
            call = {"name": function["name"], "args": {argument: last.text}, "id": f"call_{len(messages)}"}
            answer = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])


def quoted(message: ToolMessage) -> str:
    """The best passage of a search, and where it stands."""
    read = json.loads(message.text)
    if message.status == "error" or not isinstance(read, list | dict):
        return f"The documents do not tell: {read}"
    best = read[0] if isinstance(read, list) else read
    return f"{Path(best['metadata']['parent']).name} says: {' '.join(best['page_content'].split())}"


def main(*questions: str) -> int:
    with pipeline_tools(HERE / "ask.pipe", name="observatory", description=ABOUT, timeout=60) as tools:
        agent = make_agent(ScriptedModel(), tools)
        for question in questions or ("Who founded the observatory, and in what year?",):
            done = agent.invoke({"messages": [HumanMessage(question)]})
            print(done["messages"][-1].text)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
