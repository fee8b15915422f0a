"""Rules for the code: which package may import which (docs/architecture.md), names that exist, and sizes."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import re
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter

from checks.mutants import mutated, read_mutants

from tests.paths import ROOT

PACKAGE = ROOT / "mws_hf"
MODULES = {
    ".".join(["mws_hf", *file.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__"): file
    for file in sorted(PACKAGE.rglob("*.py"))
}


@cache
def tree_of(name: str) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


@cache
def imported(name: str) -> frozenset[str]:
    """Return the modules of the package that a module imports, at its top or in functions, except for type checking."""
    skipped = {
        id(inner)
        for node in ast.walk(tree_of(name))
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for part in node.body
        for inner in ast.walk(part)
    }
    found = set()
    for node in ast.walk(tree_of(name)):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(each for each in found if each in MODULES and each not in (name, "mws_hf"))


def package_of(name: str) -> str:
    """Return the first part of a module's name after the name of the package."""
    return name.split(".")[1] if "." in name else ""


def table_rows() -> list[tuple[list[str], str]]:
    """Return the packages of each row of the table in docs/architecture.md, and the packages that they may import."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]+) \|[^|]*\| ([^|]+) \|$", text, re.MULTILINE)
    return [(re.findall(r"`(\w+)(?:/|\.py)`", names), last) for names, last in rows]


def table() -> dict[str, set[str]]:
    """The packages in docs/architecture.md, and those that each may import."""
    packages = {each for row, _ in table_rows() for each in row}
    allowed = {}
    for row, last in table_rows():
        named = packages - {"__main__"} if last == "all of the above" else set(re.findall(r"`(\w+)(?:/|\.py)`", last))
        allowed |= {each: (named | {"errors", "atomic"}) - {each} for each in row}
    return allowed


def test_no_two_modules_have_one_file_name():
    names = Counter(file.name for name, file in MODULES.items() if package_of(name) != "commands")
    assert [name for name, times in names.items() if times > 1] == ["__init__.py"]


def test_packages_import_only_what_the_table_allows():
    allowed = table()
    found = {(name, package_of(other)) for name in MODULES if name != "mws_hf" for other in imported(name)}
    wrong = {
        (name, other) for name, other in found if other != package_of(name) and other not in allowed[package_of(name)]
    }
    assert not wrong


def test_the_table_has_no_cycle_and_names_every_package():
    allowed = table()
    assert set(allowed) == {package_of(name) for name in MODULES} - {""}
    allowed["atomic"], allowed["errors"] = {"errors"}, set()
    assert list(TopologicalSorter(allowed).static_order())


def test_no_module_imports_itself_indirectly():
    assert list(TopologicalSorter({name: imported(name) for name in MODULES}).static_order())


@cache
def known(name: str) -> frozenset[str]:
    """Return every name in a module: definitions, imports, strings that export a name, arguments and attributes."""
    found = {each.removeprefix(f"{name}.") for each in MODULES if each.startswith(f"{name}.")}
    for node in ast.walk(tree_of(name)):
        words = (getattr(node, field, None) for field in ("name", "id", "arg", "attr", "value"))
        found |= {word for word in words if isinstance(word, str) and word.isidentifier()}
    return frozenset(found)


def exists(words: list[str], module: str) -> bool:
    """Return whether a dotted name in backticks is a file, a name of the package or a library, or in its module."""
    if words[-1] in ("json", "md", "py") or words[0] in vars(builtins):
        return True
    for split in range(len(words), 0, -1):
        end = "." + ".".join(words[:split])
        if any(f".{name}".endswith(end) and set(words[split:]) <= known(name) for name in MODULES):
            return True
    if set(words) <= known(module) or (words[0] in classes() and set(words[1:]) <= members()):
        return True
    inside = any(f".{name}".endswith(f".{words[0]}") for name in MODULES)
    return not inside and importlib.util.find_spec(words[0]) is not None


@cache
def classes() -> frozenset[str]:
    """The classes of the package."""
    return frozenset(
        node.name for name in MODULES for node in ast.walk(tree_of(name)) if isinstance(node, ast.ClassDef)
    )


@cache
def members() -> frozenset[str]:
    """Return the names that a class may have: because it may inherit them, all names of all modules."""
    return frozenset().union(*map(known, MODULES))


def test_dotted_names_in_backticks_exist():
    dotted = re.compile(r"(?<!`)`([A-Za-z_]\w*(?:\.\w+)+)(?:\(\))?`(?!`)")
    found = {
        (name, match)
        for name, file in MODULES.items()
        for match in dotted.findall(file.read_text(encoding="utf-8"))
        if not exists(match.split("."), name)
    }
    assert not found


def test_no_module_is_longer_than_450_lines():
    long = {
        name: lines for name, file in MODULES.items() if (lines := file.read_text(encoding="utf-8").count("\n")) > 450
    }
    assert not long


def test_no_function_is_longer_than_60_lines():
    """The docstring does not count."""
    long = {}
    for name, file in MODULES.items():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[0]
                told = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
                lines = node.end_lineno - node.lineno + 1 - (first.end_lineno - first.lineno + 1 if told else 0)
                if lines > 60:
                    long[f"{name}.{node.name}"] = lines
    assert not long


def test_array_types_are_named_in_one_module():
    """An alias such as `Longs = npt.NDArray[np.int64]` is defined only in kernels/__init__.py."""
    found = {
        name
        for name in MODULES
        for node in tree_of(name).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(node.value, ast.Subscript)
        and ast.unparse(node.value.value) == "npt.NDArray"
    }
    assert found == {"mws_hf.kernels"}


PARAMETERS = 7
LONGER_SIGNATURES = {
    "compare.run.compare": 11,
    "encode.bulk.encode_corpus": 14,
    "learn.phases.learn_compositions": 8,
    "scoring.evaluation.evaluate": 9,
    "surgery.extension.extend": 8,
}
"""Functions with more parameters, and how many: the functions of the library that have a setting for each argument. Do
not add to them: values that travel together are one value (`Reading`, `Splitter`, `Dropout`)."""


def test_functions_have_at_most_seven_parameters():
    """Kernels, commands and `LONGER_SIGNATURES` are exceptions."""
    found = {}
    for name in MODULES:
        for node in ast.walk(tree_of(name)) if package_of(name) not in ("commands", "kernels") else ():
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            given = node.args
            names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            number = len(names) - (names[:1] in (["self"], ["cls"])) + bool(given.vararg) + bool(given.kwarg)
            if number > PARAMETERS and not any("njit" in ast.unparse(each) for each in node.decorator_list):
                found[f"{name.removeprefix('mws_hf.')}.{node.name}"] = number
    assert not {name: number for name, number in found.items() if number > LONGER_SIGNATURES.get(name, PARAMETERS)}


def test_a_name_in_the_learner_has_one_meaning():
    """No public function, class or constant of `learn` is defined in two modules."""
    defined: dict[str, list[str]] = {}
    for name, file in MODULES.items():
        if package_of(name) == "learn":
            for node in ast.parse(file.read_text(encoding="utf-8")).body:
                for each in defined_by(node):
                    defined.setdefault(each, []).append(name)
    assert not {each: where for each, where in defined.items() if len(where) > 1 and not each.startswith("_")}


def defined_by(node: ast.stmt) -> list[str]:
    """Names that a statement of a module defines, except loggers."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    return [name for name in names if name != "logger"]


TEXTS = {".md", ".json", ".jsonl", ".csv", ".tsv", ".html", ".svg", ".ipynb", ".py", ".toml", ".yml", ".cff"}
MACHINE = re.compile(r"(?<![\w.~/])/(?:work|root|tmp|home/(?!user\b)\w+)/[\w.]")


def test_no_file_of_the_repository_contains_a_path_of_a_machine():
    folders = [ROOT / name for name in ("docs", "scripts", "model_cards", "mws_hf", "tests")]
    files = [*ROOT.glob("*.*"), *(file for folder in folders for file in folder.rglob("*"))]
    found = [
        f"{file.relative_to(ROOT)}: {match[0]}"
        for file in files
        if file.suffix in TEXTS and file.name != "tokenizer.json" and file.is_file()
        for match in MACHINE.finditer(file.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_every_seeded_fault_has_its_code_and_its_tests():
    """A row of scripts/checks/mutants.tsv whose code or tests have moved would stop the whole list."""
    for mutant in read_mutants():
        mutated((PACKAGE / mutant.file).read_text(encoding="utf-8"), mutant)
        assert all(list(ROOT.glob(f"tests/*/test_{name}.py")) for name in mutant.tests.split()), mutant


def test_every_module_is_named_at_the_top_of_a_test_file():
    """The name is corpus/counting.py, or counting.py outside commands/, so that readers find the tests of a module."""
    heads = " ".join(
        ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "" for file in ROOT.glob("tests/*/test_*.py")
    )
    named = set(re.findall(r"[\w/]+\.py", heads))
    paths = {file.relative_to(PACKAGE) for file in MODULES.values() if file.name != "__init__.py"}
    missing = {path.as_posix() for path in paths if path.as_posix() not in named}
    assert not {each for each in missing if each.startswith("commands/") or each.rpartition("/")[2] not in named}
