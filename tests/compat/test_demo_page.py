"""The page of `mws demo` in a real browser: a person types and sees tokens, on a desk and on a phone, with no network.

Needs Chromium and its driver (Debian: chromium, chromium-driver), which `.ci/run` installs where it may; without them
the tests are skipped and say so. MWS_SCREENSHOTS names a folder in which to keep the screenshots.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from mws_hf.demo.app import EXAMPLES
from mws_hf.demo.views import MOST_DRAWN
from mws_hf.tokenizer.backend import base_vocab, build_backend
from mws_hf.trainer import MwSTrainer
from tests.paths import ROOT
from tests.processes import command, mws, one_line
from tests.short_text import TEXT

pytestmark = pytest.mark.slow

gradio = pytest.importorskip("gradio", reason="the page needs Gradio: pip install gradio")
selenium = pytest.importorskip("selenium", reason="the browser is driven by selenium: pip install selenium")

from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no Chromium here: apt-get install chromium chromium-driver"
)
HEBREW = "שלום עולם"
PATIENCE = 60


class Outside:
    """A proxy that every connection to another host would go through; it counts and refuses them."""

    def __init__(self):
        self.asked: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self.asked.append(connection.recv(200))
                connection.close()


@contextlib.contextmanager
def served(arguments, **variables):
    """A page in a process of its own; its address, once it answers."""
    process = subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **variables}, cwd=ROOT
    )
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://"), process.communicate(timeout=10)
        yield address
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.fixture(scope="module")
def directories(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    (folder / "corpus.txt").write_text(TEXT, encoding="utf-8")
    trainer = MwSTrainer(vocab_size=500, composition=0, show_progress=False)
    trainer.train(str(folder / "corpus.txt")).save_pretrained(folder / "trained")
    (folder / "letters").mkdir()
    letters = sorted({*TEXT, *HEBREW, *"0123456789 <>()/script,abc"})
    build_backend(base_vocab((), letters, []), []).save(str(folder / "letters" / "tokenizer.json"))
    return folder


@pytest.fixture(scope="module")
def outside():
    return Outside()


@pytest.fixture(scope="module")
def address(directories, outside):
    arguments = command("demo", directories / "trained", directories / "letters")
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), outside.address)
    with served(arguments, **proxies, NO_PROXY="127.0.0.1,localhost", no_proxy="127.0.0.1,localhost") as at:
        yield at


class Browser:
    """The page in Chromium, as a person uses it."""

    def __init__(self, address: str, width: int, height: int, theme: str = "light"):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for flag in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "disable-gpu", "no-first-run"):
            options.add_argument(f"--{flag}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        self.driver.set_script_timeout(PATIENCE)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.get(f"{address}?__theme={theme}")
        self.wait("#mws-text textarea")

    def wait(self, selector: str, count: int = 1):
        """The elements of a selector, once there are as many."""
        found = WebDriverWait(self.driver, PATIENCE).until(
            lambda driver: len(each := driver.find_elements(By.CSS_SELECTOR, selector)) >= count and each,
            f"{selector} did not appear",
        )
        return found

    def tab(self, name: str):
        next(each for each in self.wait("button[role=tab]", 3) if each.text == name).click()

    def paste(self, selector: str, text: str):
        """Copy a text from a box made for it, and paste it."""
        self.driver.execute_script(
            "const box = document.createElement('textarea'); box.id = 'copied'; box.value = arguments[0];"
            "document.body.append(box); box.select()",
            text,
        )
        self.wait("#copied")[0].send_keys(Keys.CONTROL, "c")
        self.driver.execute_script("document.getElementById('copied').remove()")
        WebDriverWait(self.driver, PATIENCE).until(lambda _: self.wait(selector)[0].is_displayed())
        self.wait(selector)[0].send_keys(Keys.CONTROL, "a")
        self.wait(selector)[0].send_keys(Keys.CONTROL, "v")

    def wait_height(self, selector: str, count: int, least: int):
        """Wait until there are as many elements, the tallest of them above `least` pixels.

        The page itself measures them, for it may replace them while a text is still being pasted.
        """
        tallest = (
            "const found = [...document.querySelectorAll(arguments[0])];"
            "return found.length < arguments[1] ? 0 : Math.max(...found.map(e => e.getBoundingClientRect().height))"
        )
        WebDriverWait(self.driver, PATIENCE).until(
            lambda driver: driver.execute_script(tallest, selector, count) > least, f"{selector} stayed low"
        )

    def wait_text(self, selector: str, text: str):
        WebDriverWait(self.driver, PATIENCE).until(lambda _: text in self.wait(selector)[0].text, f"no {text!r}")

    def wait_value(self, selector: str, value: str):
        WebDriverWait(self.driver, PATIENCE).until(
            lambda _: self.wait(selector)[0].get_attribute("value") == value, f"no {value!r}"
        )

    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        return self.driver.execute_script("return document.documentElement.scrollWidth - window.innerWidth")

    def log(self, kind: str):
        return self.driver.get_log(kind)

    def requests(self) -> list[str]:
        messages = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        return [each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"]

    def picture(self, path: Path):
        kept = os.environ.get("MWS_SCREENSHOTS")
        path = Path(kept, path.name) if kept else path
        assert self.driver.save_screenshot(str(path)) and path.stat().st_size > 5000


@pytest.fixture
def open_page(address):
    browsers: list[Browser] = []

    def start(width: int = 1200, height: int = 900, theme: str = "light") -> Browser:
        browsers.append(Browser(address, width, height, theme))
        return browsers[-1]

    yield start
    for browser in browsers:
        browser.driver.quit()


@needs_browser
def test_a_person_types_and_sees_tokens(open_page, outside, directories, tmp_path):
    browser = open_page()
    box = browser.wait("#mws-text textarea")[0]
    box.send_keys(Keys.CONTROL, "a")
    box.send_keys(" перечитали")
    browser.wait_text("#mws-text-shown .mws-tokens", "перечитали")
    shown = [each.text.strip() for each in browser.wait("#mws-text-shown .mws-card:first-child .mws-tokens .mws-t", 2)]
    expected = mws("segment", directories / "trained", "перечитали").stdout.strip().split("·")
    assert shown == expected and len(browser.wait(".mws-card")) == 2
    browser.picture(tmp_path / "text.png")
    assert not browser.log("browser")
    hosts = {url.split("/")[2] for url in browser.requests() if url.startswith(("http", "ws"))}
    assert hosts == {browser.driver.current_url.split("/")[2]}
    assert not outside.asked


@needs_browser
def test_the_first_screen_shows_an_example_and_carries_the_text_between_tabs(open_page):
    browser = open_page(360, 740)
    browser.wait("#mws-text-shown .mws-tokens .mws-t")
    next(each for each in browser.wait(".mws-examples button", 8) if each.text == "Suomi").click()
    browser.wait_text("#mws-text-shown", "Taloissammekin")
    browser.tab("Word")
    browser.wait_value("#mws-word textarea, #mws-word input", "Taloissammekin")
    browser.tab("Compare")
    browser.wait_value("#mws-compare textarea", EXAMPLES[3].text)
    browser.paste("#mws-compare textarea", "She unlocks it")
    browser.tab("Text")
    browser.wait_text("#mws-text-shown .mws-tokens", "unlocks")
    browser.tab("Word")
    browser.wait_value("#mws-word textarea, #mws-word input", "unlocks")
    assert browser.overflow() <= 0


def test_another_page_s_requests_uploads_and_other_hosts_are_refused(address):
    def status(path="", data=None, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(address.rstrip("/") + path, data, named)
        try:
            return urllib.request.urlopen(request, timeout=PATIENCE).status
        except urllib.error.HTTPError as error:
            return error.code

    form = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\nabc\r\n--x--\r\n'
    multipart = "multipart/form-data; boundary=x"
    assert status() == 200 and status("/config") == 200
    assert status(Host="evil.example") == 403
    assert status(Origin="http://evil.example") == 403
    assert status("/gradio_api/upload", form, Content_Type=multipart) == 403
    assert status("/gradio_api/queue/join", b"{}", Content_Type="text/plain") == 403
    assert status("/gradio_api/queue/join", b"{}", Content_Type="application/json", Content_Length="9000000") == 413


@needs_browser
@pytest.mark.parametrize(("width", "theme"), [(1200, "dark"), (360, "light")])
def test_every_panel_on_a_desk_and_on_a_phone(open_page, tmp_path, width, theme):
    browser = open_page(width, 740, theme)
    name = f"{theme}-{width}"
    browser.paste("#mws-text textarea", "перечитали " * 20 + "п" * 300)
    browser.wait("#mws-text-shown .mws-t", 100)
    assert browser.overflow() <= 0
    browser.picture(tmp_path / f"text-{name}.png")
    browser.tab("Word")
    browser.paste("#mws-word textarea, #mws-word input", "перечитать")
    browser.wait_height("#mws-word-shown .mws-bar s", 9, 40)
    assert browser.wait("#mws-word-shown .mws-merges li")
    assert browser.overflow() <= 0
    browser.picture(tmp_path / f"word-{name}.png")
    browser.tab("Compare")
    browser.paste("#mws-compare textarea", "перечитать записать " * 5)
    browser.wait("#mws-compare-shown .mws-words td")
    assert browser.overflow() <= 0
    browser.picture(tmp_path / f"compare-{name}.png")
    assert not browser.log("browser")


@needs_browser
def test_scripts_in_a_text_do_not_run_and_hebrew_is_read_from_the_right(open_page):
    browser = open_page()
    browser.paste("#mws-text textarea", f"{HEBREW} 123 <script>abc</script><img src=x onerror=alert(1)>")
    browser.wait_text("#mws-text-shown", "script")
    tokens = browser.wait("#mws-text-shown .mws-card:last-child .mws-tokens .mws-t", 13)[:13]
    places = [(each.text, each.rect["x"]) for each in tokens if each.text.strip()]
    hebrew, digits = [x for text, x in places if text not in "123"], [x for text, x in places if text in "123"]
    assert hebrew == sorted(hebrew, reverse=True) and len(hebrew) == 8
    assert digits == sorted(digits) and max(digits) < min(hebrew) and len(digits) == 3
    assert not browser.driver.find_elements(By.CSS_SELECTOR, ".mws script, .mws img")


@needs_browser
def test_a_hundred_thousand_characters_do_not_freeze_it(open_page):
    browser = open_page()
    started = time.monotonic()
    browser.paste("#mws-text textarea", ("перечитать записать почитали\n" * 4000)[:100_000])
    browser.wait_text("#mws-text-shown", "tokens are drawn; the figures are of all")
    assert time.monotonic() - started < 30  # a second or two on a machine that does nothing else
    assert len(browser.wait("#mws-text-shown .mws-tokens .mws-t")) <= MOST_DRAWN
    waited = browser.driver.execute_async_script(
        "const done = arguments[0], begin = performance.now();"
        "requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begin)))"
    )
    assert waited < 2000


@pytest.mark.skipif(not (ROOT / "model_cards").is_dir(), reason="model_cards/ is not in the source distribution")
def test_alone_it_shows_a_ready_tokenizer_beside_bpe():
    with served(command("demo")) as address:
        page = json.loads(urllib.request.urlopen(f"{address.rstrip('/')}/config", timeout=PATIENCE).read())
    shown = next(
        each["props"]["value"] for each in page["components"] if each["props"].get("elem_id") == "mws-text-shown"
    )
    assert re.findall(r"<h3>(\w+)</h3>", shown) == ["MwS", "BPE"]


def test_the_space_shows_the_tokenizers_named_to_it(directories):
    names = f"{directories / 'trained'} {directories / 'letters'}"
    with served([sys.executable, "scripts/space/app.py"], MWS_TOKENIZERS=names, PYTHONPATH=str(ROOT)) as address:
        page = urllib.request.urlopen(address, timeout=PATIENCE).read().decode()
        policy = urllib.request.urlopen(address, timeout=PATIENCE).headers["content-security-policy"]
    assert '"trained"' in page and '"letters"' in page and policy.startswith("default-src 'self'")


def test_the_space_s_card_is_one():
    from huggingface_hub import RepoCard

    data = RepoCard.load(ROOT / "scripts/space/README.md").data.to_dict()
    assert (
        data["sdk"] == "gradio"
        and data["app_file"] == "app.py"
        and "mws-hf[demo]" in (ROOT / "scripts/space/requirements.txt").read_text(encoding="utf-8")
    )


def test_misuse_is_told_in_a_line(directories):
    absent = mws("demo", directories / "absent")
    assert one_line(absent) and "no such directory" in absent.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = mws("demo", directories / "letters", "--port", taken.getsockname()[1])
    assert one_line(refused) and "choose another --port" in refused.stderr
    double = mws("demo", directories / "letters", directories / "letters")
    assert one_line(double) and "NAME=DIR" in double.stderr
