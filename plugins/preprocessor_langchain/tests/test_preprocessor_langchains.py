# SPDX-License-Identifier: MIT
"""The profiles that are LangChain's work: LaTeX, sentences by NLTK and spaCy, and what is said where something is not installed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from rocketride_core import DOCUMENTS, TEXT, Component, Document, Entry, Instance, Kernel, LaneLink, Node, NodeSpec, PipeFile, on
from rocketride_preprocessor_langchain import LangchainPreprocessor
from rocketride_preprocessor_langchain.langchains import latex
from rocketride_preprocessor_langchain.measures import characters
from rocketride_preprocessor_langchain.splitters import Limits, recursive

PROFILES = ("default", "recursive", "character", "markdown", "latex", "nltk", "spacy", "custom")
NEWS = "Dr. Ada wrote.  It ran!\nDid it? It did… and “it was good.” The İzmir ışık office agreed.\n\nEnd of the news. 🎉 Bye."


class Start(Node[None]):
    spec = NodeSpec("test_start", title="Start", categories=["source"], emits=[TEXT])


class Keep(Node[None]):
    spec = NodeSpec("test_keep", title="Keep", responds=True)

    @on(DOCUMENTS)
    def keep(self, instance: Instance, documents: Sequence[Document]) -> None:
        instance.respond("documents", DOCUMENTS(documents))


def pipe(profile: str, **config: Any) -> PipeFile:
    parts = [
        Component("start_1", "test_start", {"mode": "Source"}),
        Component("cut_1", "preprocessor_langchain", {"profile": profile, profile: config}, [LaneLink("text", "start_1")]),
        Component("keep_1", "test_keep", {}, [LaneLink("documents", "cut_1")]),
    ]
    return PipeFile(parts)


def cut(text: str, profile: str, **config: Any) -> list[Document]:
    with Kernel(nodes=[Start, Keep, LangchainPreprocessor]).load(pipe(profile, **config)) as pipeline:
        result = pipeline.run(Entry("a.txt"), TEXT(text)).checked()
        return [document for documents in result[DOCUMENTS] for document in documents]


def checked(text: str, documents: Sequence[Document]) -> list[str]:
    """The texts, after a look at their positions."""
    for document in documents:
        where: Mapping[str, Any] = document.metadata
        assert (text + "\n")[where["start"] : where["end"]] == document.text == document.text.strip() != ""
    assert "".join("".join(document.text for document in documents).split()) == "".join(text.split())
    return [document.text for document in documents]


@pytest.fixture
def punkt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """NLTK's data with nothing learnt but one abbreviation."""
    nltk = pytest.importorskip("nltk")
    folder = tmp_path / "tokenizers" / "punkt_tab" / "english"
    folder.mkdir(parents=True)
    for name, content in {
        "abbrev_types.txt": "dr\n",
        "collocations.tab": "",
        "sent_starters.txt": "",
        "ortho_context.tab": "",
    }.items():
        (folder / name).write_text(content)
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    nltk.tokenize._get_punkt_tokenizer.cache_clear()
    return folder


@pytest.fixture
def spacy(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A spaCy whose sentences end at full stops, and which has one model."""

    class English:
        max_length = 0

        def add_pipe(self, name: str) -> None:
            assert name == "sentencizer"

        def __call__(self, text: str) -> Any:
            return SimpleNamespace(sents=[SimpleNamespace(text=part + ".") for part in text.strip().split(".") if part.strip()])

    def load(name: str, exclude: Sequence[str]) -> English:
        if name != "en_core_web_sm":
            raise OSError(f"[E050] Can't find model '{name}'.")
        return English()

    made = {name: ModuleType(name) for name in ("spacy", "spacy.lang", "spacy.lang.en")}
    vars(made["spacy"])["load"], vars(made["spacy.lang.en"])["English"] = load, English
    for name, module in made.items():
        monkeypatch.setitem(sys.modules, name, module)
    return made["spacy"]


def test_the_profiles_are_those_of_the_catalogue() -> None:
    assert tuple(profile.id for profile in LangchainPreprocessor.spec.profiles) == PROFILES


def test_latex_is_cut_at_its_commands_and_formulas() -> None:
    pytest.importorskip("langchain_text_splitters")
    text = (
        "Preface.\n\\chapter{One}\nWords of one.\n\\section{Deep}\nMore of it.\n\\begin{itemize}\n\\item x\n\\end{itemize}\nCosts $a+b$ and "
        + "y" * 45
    )
    texts = checked(text, cut(text, "latex", strlen=40))
    assert [part.splitlines()[0] for part in texts if part.startswith("\\")] == [
        "\\chapter{One}",
        "\\section{Deep}",
        "\\begin{itemize}",
    ]
    assert any(part.startswith("$a+b") for part in texts)
    assert texts[-2:] == ["y" * 39, "y" * 6]
    assert recursive("a" + "e\u0301" * 9, characters, Limits(4), latex(), regex=True)[0] == (0, 3)


def test_sentences_by_nltk(punkt: Path) -> None:
    texts = checked(NEWS, cut(NEWS, "nltk", strlen=30))
    assert texts[:2] == ["Dr. Ada wrote.  It ran!", "Did it?"]
    assert texts[-1] == "End of the news. 🎉 Bye."
    repeated = "Same words. " * 40
    assert [document.metadata["start"] for document in cut(repeated, "nltk", strlen=12)] == [*range(0, 480, 12)]
    tokens = cut(NEWS, "nltk", mode="tokens", tokens=10)
    assert len(checked(NEWS, tokens)) > 4


@pytest.mark.parametrize("config", [{}, {"pipeline": "sentencizer"}, {"model": "xx", "pipeline": "sentencizer"}])
def test_sentences_by_spacy(spacy: ModuleType, config: dict[str, str]) -> None:
    text = "One is here.  Two is\nthere. Three. Four and a long sentence that has no end before this. Five."
    texts = checked(text, cut(text, "spacy", strlen=20, **config))
    assert texts == ["One is here.", "Two is\nthere.", "Three.", "Four and a long sentence that has no end before this.", "Five."]


def test_a_sentence_over_the_limit_is_warned_of(spacy: ModuleType) -> None:
    with Kernel(nodes=[Start, Keep, LangchainPreprocessor]).load(pipe("spacy", strlen=8)) as pipeline:
        (warning,) = pipeline.run(Entry("a"), TEXT("Short. Quite a long one.")).checked().warnings
    assert (warning.code, "a chunk has 17 characters, more than 8" in warning.message) == ("long-chunk", True)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("text", ["", " \n\t\u3000", "\n\n\n"])
def test_nothing_gives_nothing(profile: str, text: str, punkt: Path, spacy: ModuleType) -> None:
    assert cut(text, profile) == []


@pytest.mark.parametrize(("profile", "config", "hidden", "words"), [
    ("character", {}, "langchain_text_splitters", "pip install rocketride-preprocessor-langchain[langchain]"),
    ("markdown", {}, "langchain_text_splitters", "pip install rocketride-preprocessor-langchain[langchain]"),
    ("latex", {}, "langchain_text_splitters", "pip install rocketride-preprocessor-langchain[langchain]"),
    ("nltk", {}, "nltk", "pip install rocketride-preprocessor-langchain[nltk]"),
    ("spacy", {}, "spacy", "pip install rocketride-preprocessor-langchain[spacy]"),
    ("spacy", {"model": "de_core_news_sm"}, "", "python -m spacy download de_core_news_sm fetches it, or set pipeline to 'sentencizer'"),
])  # fmt: skip
def test_what_is_missing_is_named(
    profile: str, config: dict[str, str], hidden: str, words: str, spacy: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    if hidden:
        monkeypatch.setitem(sys.modules, hidden, None)  # type: ignore[arg-type]
    with pytest.raises(Exception) as raised:
        cut("text", profile, **config)
    assert words in str(raised.value)


def test_missing_data_of_nltk_is_named(punkt: Path) -> None:
    for file in punkt.iterdir():
        file.unlink()
    punkt.rmdir()
    with pytest.raises(Exception, match="python -m nltk.downloader punkt_tab fetches it, or name a folder"):
        cut("text", "nltk")


def test_the_recursive_profiles_need_no_langchain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_text_splitters", None)  # type: ignore[arg-type]
    for profile in ("default", "recursive", "custom"):
        assert checked("one two three", cut("one two three", profile, strlen=8)) == ["one two", "three"]


@pytest.mark.parametrize("mode", ["strlen", "tokens"])
def test_scripts_survive(mode: str) -> None:
    text = "Işık ılık İzmir, e\u0301te\u0301 👩\u200d👩\u200d👧 🇹🇷🇩🇪 引擎读取文件。한국어 नि क्षि " * 30
    for size in (5, 12, 100):
        checked(text, cut(text, "default", mode=mode, strlen=size, tokens=size))
