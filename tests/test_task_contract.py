"""What a task offers stands in `tasks.base.Task`: nothing is asked of it by chance."""

import ast
import pathlib

import pytest

from official_bert.errors import InputError
from official_bert.tasks import TASKS, task_class
from official_bert.tasks.base import Task

ROOT = pathlib.Path(__file__).resolve().parent.parent
_ASK = ("hasattr", "getattr")


@pytest.mark.parametrize("name", sorted(TASKS))
def test_every_task_is_whole(name):
    task = task_class(name)
    assert issubclass(task, Task)
    assert not task.__abstractmethods__
    assert isinstance(task.record_kind, str)


def test_nobody_asks_a_task_what_it_has():
    for folder in ("tasks", "runs", "training"):
        for path in sorted((ROOT / "official_bert" / folder).glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    asked = ast.unparse(node.args[0]) if node.args else ""
                    assert node.func.id not in _ASK or not asked.endswith("task"), path


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("guessing", "task is 'guessing': it must be one of .*tagging, or package.module:Class"),
        ("", "task is '': it must be one of"),
        ("no_such_package.tasks:Mine", "there is no module no_such_package"),
        ("official_bert.tasks.tagging:Missing", "official_bert.tasks.tagging has no class Missing"),
        ("official_bert.tasks.tagging:tagged_lines", "has no class tagged_lines"),
        ("official_bert.text.vocab:Vocab", "is no subclass of official_bert.tasks.base.Task"),
        ("a:b:c", "'a:b:c' names no class"),
        ("../x:Y", "'../x:Y' names no class"),
    ],
)
def test_a_task_that_there_is_not(name, message):
    with pytest.raises(InputError, match=message):
        task_class(name)
