# SPDX-License-Identifier: MIT
"""Answer questions through a pipeline: python examples/host_sync.py examples/echo.pipe "What is new?" "Why?" """

import sys

from rocketride_core import ANSWERS, QUESTIONS, Entry, Kernel, PipeError, Question


def main(pipe: str, *questions: str) -> int:
    failed = 0
    work = ((Entry(text), [QUESTIONS(Question.of(text))]) for text in questions)
    try:
        with Kernel().load(pipe) as pipeline:
            for result in pipeline.map(work, ordered=True, timeout=60):
                failed += result.error is not None
                print(result.error or "\n".join(answer.text for answer in result[ANSWERS]))
    except PipeError as error:
        print(error, file=sys.stderr)
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
