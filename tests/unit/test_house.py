"""The house: which room may look into which. Read from the imports, also those inside functions."""

from __future__ import annotations

import ast
import re

import pytest

from tests.paths import ROOT

PACKAGE = ROOT / "mws_hf"
MODULES = {
    ".".join(["mws_hf", *file.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__"): file
    for file in sorted(PACKAGE.rglob("*.py"))
}


def imported(name: str) -> set[str]:
    """The modules of the package that a module imports, at its top or within functions; not for type checkers alone."""
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {each for each in found if each in MODULES and each != name}


def room(name: str) -> str:
    """The first part below the package."""
    return name.split(".")[1] if "." in name else ""


def test_no_module_imports_itself_by_a_detour():
    graph = {name: imported(name) - {"mws_hf"} for name in MODULES}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name in done:
            return
        for other in sorted(graph[name]):
            visit(other, (*path, name))
        done.add(name)

    for name in MODULES:
        visit(name, ())


@pytest.mark.parametrize(
    ("below", "above"),
    [
        ("kernels", {"corpus", "learn", "trainer", "encode", "evaluate", "commands", "distributed"}),
        ("corpus", {"learn", "trainer", "encode", "evaluate", "commands", "distributed"}),
        ("learn", {"trainer", "encode", "evaluate", "commands", "distributed"}),
        ("encode", {"learn", "trainer", "evaluate", "commands", "distributed"}),
        ("distributed", {"learn", "trainer", "evaluate", "commands"}),
        ("evaluate", {"learn", "trainer", "commands", "distributed"}),
    ],
)
def test_data_flows_one_way(below, above):
    inside = [name for name in MODULES if room(name) == below]
    assert not {(name, other) for name in inside for other in imported(name) if room(other) in above}


def test_nothing_needs_the_research_room():
    """`mws compare` opens it, and its parts keep the names they had; all others can ignore it."""
    names = {"lm", "baselines", "compare"}
    found = {
        (name, other)
        for name in MODULES
        for other in imported(name)
        if room(name) != "research" and room(other) in {"research", *names}
    }
    assert {name for name, _ in found} == {"mws_hf.commands.compare", *(f"mws_hf.{name}" for name in names)}


def test_few_modules_lie_loose():
    """What a newcomer sees first: three doors, the trained value they share, and what serves all."""
    loose = {name for name, file in MODULES.items() if file.parent == PACKAGE}
    doors = ("trainer", "trained", "tokenization_mws_fast", "tokenization_mws")
    assert loose == {"mws_hf", *(f"mws_hf.{name}" for name in (*doors, "errors", "atomic", "__main__"))}


def test_hash_tables_and_heaps_stand_in_one_room():
    """An open-addressing probe is a loop that adds one to a slot under a mask; a heap sifts by `2 * at + 1`."""
    signs = ("+ 1) & mask", "_U(1)) & mask", "2 * at + 1", "- 1) >> 1")
    found = {
        (name, sign)
        for name, file in MODULES.items()
        for sign in signs
        if sign in file.read_text(encoding="utf-8") and room(name) != "kernels"
    }
    assert not found


def test_no_module_is_longer_than_a_reader_bears():
    long = {
        name: lines for name, file in MODULES.items() if (lines := file.read_text(encoding="utf-8").count("\n")) > 450
    }
    assert not long


def test_no_function_is_longer_than_a_reader_bears():
    """60 lines, its docstring aside."""
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
    """An alias such as `Longs = npt.NDArray[np.int64]` stands in kernels/arrays.py alone."""
    alias = re.compile(r"^\w+(: TypeAlias)? = npt\.NDArray\[", re.MULTILINE)
    found = {name for name, file in MODULES.items() if alias.search(file.read_text(encoding="utf-8"))}
    assert found == {"mws_hf.kernels.arrays"}


def test_a_name_of_the_learner_means_one_thing():
    """No public function, class or constant of `learn` is defined in two modules; readable twins are named alike."""
    defined: dict[str, list[str]] = {}
    for name, file in MODULES.items():
        if room(name) == "learn" and not name.endswith(".reference"):
            for node in ast.parse(file.read_text(encoding="utf-8")).body:
                for each in defined_by(node):
                    defined.setdefault(each, []).append(name)
    assert not {each: where for each, where in defined.items() if len(where) > 1 and not each.startswith("_")}


def defined_by(node: ast.stmt) -> list[str]:
    """Names that a statement of a module defines, loggers aside."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    return [name for name in names if name != "logger"]


NO_VERBS = frozenset(
    "A All An Any As At By Each Every Everything For From How If In It Its No None Nothing Of On One Only Some That "
    "The Their These This Those Two What Whatever When Where Whether Which Who Why With".split()
)


def begins_with_a_verb(docstring: str) -> bool:
    """Whether the first word may be an imperative: letters alone, no article or pronoun, no plural, no participle."""
    word = docstring.split()[0].rstrip(".,:;")
    ending = re.search(r"[^s]s$|ing$", word)
    return bool(re.fullmatch(r"[A-Z][a-z-]+", word)) and word not in NO_VERBS and (not ending or word == "Bring")


def public_functions(node: ast.AST) -> list[ast.FunctionDef]:
    """Functions and methods of a module or class that have public names, properties and inner functions aside."""
    found = []
    for each in getattr(node, "body", []):
        if isinstance(each, ast.ClassDef) and not each.name.startswith("_"):
            found += public_functions(each)
        elif isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
            if "property" not in "".join(ast.unparse(one) for one in each.decorator_list):
                found.append(each)
    return found


def test_docstrings_of_functions_begin_with_a_verb():
    """In the imperative, "Return the...": a class, a module or a property is a noun, a function does something."""
    told = {
        f"{name}.{node.name}": ast.get_docstring(node)
        for name, file in MODULES.items()
        for node in public_functions(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert not {name: text for name, text in told.items() if text and not begins_with_a_verb(text)}


def test_docstrings_define_no_function_by_the_name_of_another():
    """A summary such as "As `count`." sends the reader elsewhere for its meaning."""
    elsewhere = re.compile(r"(See|As|Like|Do as|The same as|Same as) `[^`]*`[.;,]?", re.IGNORECASE)
    told = {
        f"{name}.{node.name}": (ast.get_docstring(node) or "").splitlines()[:1]
        for name, file in MODULES.items()
        for node in public_functions(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert not {name: text for name, text in told.items() if text and elsewhere.fullmatch(text[0])}
