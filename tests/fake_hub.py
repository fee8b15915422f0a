"""A Hub on the loopback interface, with only the endpoints that pushing and loading a tokenizer use."""

import base64
import hashlib
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit


class FakeHub(ThreadingHTTPServer):
    """Repositories by name, each a mapping from path to content; other branches are called ``user/repo@branch``.

    A commit with create_pr goes to the branch ``refs/pr/1``. Requests for files in `broken` are answered with status
    403, after which clients do not try again. If `always` is set, every request is answered with that status, and if
    it is 200, with a login page.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.broken: set[str] = set()
        self.always: int | None = None

    def environment(self, home: Path) -> dict[str, str]:
        """Return the environment of a process that uses this Hub, and the cache in `home`."""
        usual = {key: value for key, value in os.environ.items() if not key.upper().startswith(("HF_", "HTTP"))}
        own = {"HF_ENDPOINT": self.address, "HF_HOME": str(home), "HF_TOKEN": "hf_" + "x" * 34}
        return usual | own | {"NO_PROXY": "127.0.0.1", "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def commit_of(self, repository: str) -> str:
        return hashlib.sha1(repr(sorted(self.repositories[repository].items())).encode()).hexdigest()


@contextmanager
def running_hub() -> Iterator[FakeHub]:
    with FakeHub() as hub:
        thread = threading.Thread(target=hub.serve_forever, daemon=True)
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeHub

    def log_message(self, *_) -> None:
        pass

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer_json(self, value: object, status: int = 200) -> None:
        self.answer(status, json.dumps(value).encode(), Content_Type="application/json")

    def missing(self, what: str) -> None:
        self.answer(404, b"{}", X_Error_Code=what)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.server.requests.append(f"{self.command} {path}")
        if self.server.always is not None:
            return self.answer(self.server.always, b"<html><form>Log in</form></html>", Content_Type="text/html")
        parts = path.strip("/").split("/")
        for at in (0, 2):  # an old repository without a user's name
            if parts[at : at + 1] and parts[at] in self.server.repositories:
                parts[at : at + 1] = ["", parts[at]]
        if parts[:2] == ["api", "models"] and len(parts) >= 4:
            repository, rest = "/".join(parts[2:4]).lstrip("/"), parts[4:]
            if repository not in self.server.repositories:
                return self.missing("RepoNotFound")
            return self.tree(repository, "/".join(rest[2:])) if rest[:1] == ["tree"] else self.info(repository)
        if len(parts) > 4 and parts[2] == "resolve":
            revision, name = _revision(parts[3:])
            return self.file(self.branch("/".join(parts[:2]).lstrip("/"), revision), name)
        if parts == ["api", "whoami-v2"]:
            return self.answer_json({"name": "user", "type": "user", "orgs": [], "auth": {"type": "access_token"}})
        return self.missing("EntryNotFound")

    def branch(self, repository: str, revision: str) -> str:
        """Return the key of a branch; the hash of a commit stands for the main branch."""
        return repository if revision == "main" or len(revision) == 40 else f"{repository}@{revision}"

    def info(self, repository: str) -> None:
        files = [{"rfilename": name} for name in self.server.repositories[repository]]
        head = {"id": repository, "modelId": repository, "sha": self.server.commit_of(repository), "siblings": files}
        self.answer_json({**head, "tags": [], "private": False, "downloads": 0, "likes": 0})

    def tree(self, repository: str, folder: str) -> None:
        files = self.server.repositories[repository]
        inside = [name for name in files if not folder or name.startswith(folder + "/")]
        if folder and not inside:
            return self.missing("EntryNotFound")
        return self.answer_json([{"type": "file", "path": n, "size": len(files[n]), "oid": "0" * 40} for n in inside])

    def file(self, repository: str, name: str) -> None:
        if f"{repository.partition('@')[0]}/{name}" in self.server.broken:
            return self.answer(403)
        content = self.server.repositories.get(repository, {}).get(name)
        if content is None:
            absent = "RevisionNotFound" if "@" in repository else "RepoNotFound"
            return self.missing("EntryNotFound" if repository in self.server.repositories else absent)
        commit = self.server.commit_of(repository)
        return self.answer(200, content, ETag=f'"{hashlib.sha1(content).hexdigest()}"', X_Repo_Commit=commit)

    def do_POST(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.server.requests.append(f"POST {path}")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = path.strip("/").split("/")
        if path == "/api/repos/create":
            request = json.loads(body)
            repository = f"{request.get('organization') or 'user'}/{request['name']}"
            known = repository in self.server.repositories
            self.server.repositories.setdefault(repository, {})
            url = {"url": f"{self.server.address}/{repository}", "id": repository, "name": repository}
            return self.answer_json(url, 409 if known else 200)
        if path == "/api/validate-yaml":
            return self.answer_json({"errors": [], "warnings": []})
        if "preupload" in parts:
            files = [{"path": each["path"], "uploadMode": "regular"} for each in json.loads(body)["files"]]
            return self.answer_json({"files": [{**each, "shouldIgnore": False} for each in files]})
        if "branch" in parts:
            of = "/".join(parts[2:4])
            self.server.repositories[f"{of}@{'/'.join(parts[5:])}"] = dict(self.server.repositories[of])
            return self.answer_json({})
        if "commit" in parts:
            revision = "refs/pr/1" if "create_pr=1" in self.path else "/".join(parts[5:])
            return self.commit(self.branch("/".join(parts[2:4]), revision), body)
        return self.missing("EntryNotFound")

    def commit(self, repository: str, body: bytes) -> None:
        self.server.repositories.setdefault(repository, {})
        for line in map(json.loads, body.splitlines()):
            if line["key"] == "header":
                self.server.messages.append(line["value"]["summary"])
            if line["key"] == "file":
                content = base64.b64decode(line["value"]["content"])
                self.server.repositories[repository][line["value"]["path"]] = content
        commit = self.server.commit_of(repository)
        of, _, revision = repository.partition("@")
        url = f"{self.server.address}/{of}/commit/{commit}"
        request = f"{self.server.address}/{of}/discussions/1" if revision.startswith("refs/pr") else None
        self.answer_json({"success": True, "commitOid": commit, "commitUrl": url, "pullRequestUrl": request})


def _revision(parts: list[str]) -> tuple[str, str]:
    """Split the revision, which may be ``refs/pr/N``, off the beginning of a path."""
    n = 3 if parts[0] == "refs" else 1
    return "/".join(parts[:n]), "/".join(parts[n:])
