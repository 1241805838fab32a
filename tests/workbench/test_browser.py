"""The workbench in a real browser: the whole way, what goes wrong on it, and what others cannot see."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from importlib.util import find_spec

import pytest

from workbench.conftest import people
from workbench.served import CHROMIUM, browsing, served

pytestmark = [
    pytest.mark.xdist_group("workbench"),
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here"),
    pytest.mark.skipif(find_spec("playwright") is None, reason="no playwright here: pip install playwright"),
    pytest.mark.skipif(find_spec("nicegui") is None, reason="no nicegui here: pip install 'sfumato[web]'"),
]
LONG = 120_000
MOST_CLICKS = 40
LOCKED = "status of 401"
"""What a browser says of a page that was locked under its eyes."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    with served(tmp_path_factory.mktemp("bench") / "project") as made:
        yield made


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import expect

    expect.set_options(timeout=60_000)
    with browsing() as made:
        yield made


def test_a_ticket_in_a_file_opens_a_session(browser, tmp_path):
    """What ``webbrowser.open`` does: a browser that nobody has used here opens a file and comes to the first page."""
    opener = f"import shutil, sys; shutil.copy(sys.argv[1].removeprefix('file://'), {str(tmp_path / 'door.html')!r})"
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{opener}" "$1"\n')
    script.chmod(0o700)
    with served(tmp_path / "project", browser=f"{script} %s") as made:
        door = tmp_path / "door.html"
        for _ in range(300):
            if door.exists() and door.read_text():
                break
            time.sleep(0.1)
        context = browser.new_context()
        page = context.new_page()
        page.goto(door.as_uri())
        page.wait_for_url(re.compile(f"{re.escape(made.origin)}/w-[0-9a-f]+/"))
        page.wait_for_function("document.querySelector('h1')?.innerText")
        page.goto(door.as_uri())
        page.wait_for_url(re.compile("token="))
        assert page.locator("form").count() == 1  # the ticket is used up: the door is shown
        context.close()


@pytest.fixture
def page(bench, browser):
    """A page with an open session; whatever the browser complains about fails the test."""
    context = browser.new_context(accept_downloads=True)
    context.set_default_timeout(60_000)
    made, complaints = context.new_page(), []
    made.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    made.on("pageerror", lambda error: complaints.append(str(error)))
    made.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
    made.on("request", lambda asked: complaints.append(asked.url) if not local(asked.url, bench) else None)
    made.goto(bench.address)
    yield made
    context.close()
    assert [said for said in complaints if LOCKED not in said] == []


def local(url, bench):
    return url.startswith((bench.origin, "data:", "blob:"))


class Hand:
    """A hand that counts its clicks."""

    def __init__(self, page):
        self.page, self.clicks = page, 0

    def click(self, role, name, **more):
        self.page.get_by_role(role, name=name, **more).click()
        self.clicks += 1

    def type(self, name, text):
        self.page.get_by_role("textbox", name=name, exact=True).fill(text)
        self.clicks += 1


def kept(bench, field, value):
    """Wait until the project has kept an input: it is written shortly after the last key."""
    import time

    for _ in range(600):
        state = bench.folder / "project.json"
        if state.exists() and json.loads(state.read_text()).get(field) == value:
            return
        time.sleep(0.1)
    raise AssertionError(f"{field} was not kept")


def test_from_a_file_of_forty_columns_to_a_verified_bundle(page, bench, tmp_path):
    from playwright.sync_api import expect

    place, hand = tmp_path / "people.csv", Hand(page)
    people(columns=40).to_csv(place, index=False)
    hand.type("Path of the file", str(place))
    hand.click("button", "Open", exact=True)
    expect(page.get_by_text("40 of 40 columns")).to_be_visible()
    hand.click("button", "Use rounder bounds")
    expect(page.get_by_text("0 to 120", exact=True)).to_be_visible()
    hand.click("radio", "Each person has one row")
    hand.type("Public source of all other facts", "code book 2024")
    kept(bench, "rest_source", "code book 2024")
    page.reload()
    expect(page.get_by_role("textbox", name="Public source of all other facts", exact=True)).to_have_value(
        "code book 2024"
    )
    expect(page.get_by_role("radio", name="Each person has one row")).to_be_checked()
    hand.click("button", "Confirm the schema")
    expect(page.get_by_text("Confirmed by")).to_be_visible()
    hand.click("button", "Next: Plan")
    hand.click("button", "Testing software")
    hand.type("Epsilon", "9")
    hand.click("button", "Open an account with these caps")
    expect(page.get_by_role("alert")).to_contain_text("does not allow this release")
    hand.type("Epsilon", "1")
    hand.click("button", "Next: Release")
    hand.click("button", "Release, and record the cost")
    expect(page.get_by_text("Released: ")).to_be_visible(timeout=LONG)
    hand.click("button", "Verify")
    expect(page.get_by_text("verified", exact=True)).to_be_visible(timeout=LONG)
    hand.click("button", "Report", exact=True)
    report = page.frame_locator("iframe").get_by_role("heading", name="people")
    expect(report.first).to_be_visible()
    assert hand.clicks < MOST_CLICKS
    same_by_script(page, hand, tmp_path, place)
    said = (bench.folder.parent / "project.log").read_text()
    assert "token" not in said and "code book" not in said


def same_by_script(page, hand, tmp_path, data):
    """Download the script, and run it in a process of its own: the same plan, and a bundle that verifies."""
    hand.click("link", "5 Script")
    with page.expect_download() as download:
        hand.click("button", "Download release.py")
    download.value.save_as(tmp_path / "release.py")
    told = subprocess.run([sys.executable, tmp_path / "release.py", "--plan"], capture_output=True, check=True)
    plan = json.loads(told.stdout)
    book = tmp_path / "own.db"
    out = tmp_path / "again"
    words = [sys.executable, tmp_path / "release.py", "--ledger", book, "--out", out]
    subprocess.run(words, capture_output=True, check=True)
    made = json.loads((out / "release.json").read_text())
    assert plan["method"] == "marginals" and made["method"]["name"] == "marginals"
    assert [each["epsilon"] for each in plan["events"]] == [each["epsilon"] for each in made["events"]]
    from sfumato.bundle.verify import verify_bundle

    assert verify_bundle(out, str(book)).ok


def test_a_bad_file_is_a_sentence_and_a_remedy(page, tmp_path):
    from playwright.sync_api import expect

    place = tmp_path / "semicolons.csv"
    people().to_csv(place, index=False, sep=";")
    hand = Hand(page)
    hand.type("Path of the file", str(tmp_path / "nothing.csv"))
    hand.click("button", "Open", exact=True)
    expect(page.get_by_role("alert").first).to_contain_text("nothing.csv")
    hand.type("Path of the file", str(place))
    hand.click("button", "Open", exact=True)
    hand.click("button", "Read it with the delimiter ';'")
    expect(page.get_by_text("6 of 6 columns")).to_be_visible()


HOSTILE = "<img src=x onerror=alert(1)>"


def test_hostile_names_and_values_are_texts(page, tmp_path):
    from playwright.sync_api import expect

    frame = people()
    frame[HOSTILE] = ["</script><script>alert(2)</script>", "{{ 7 * 7 }}"] * (len(frame) // 2)
    frame["${alert(3)}`"] = frame["sex"]
    place = tmp_path / "hostile.csv"
    frame.to_csv(place, index=False)
    hand = Hand(page)
    hand.type("Path of the file", str(place))
    hand.click("button", "Open", exact=True)
    expect(page.get_by_text("8 of 8 columns")).to_be_visible()
    expect(page.get_by_text(HOSTILE, exact=True)).to_be_visible()
    expect(page.get_by_text("{{ 7 * 7 }}").first).to_be_visible()
    hand.click("button", "Show some rows", exact=True)
    expect(page.locator("table.plain")).to_contain_text("<script>alert(2)</script>")
    page.reload()
    expect(page.get_by_text(HOSTILE, exact=True)).to_be_visible()
    assert page.locator("main img").count() == 0
    storage = page.evaluate("JSON.stringify(localStorage) + JSON.stringify(sessionStorage)")
    assert "north" not in storage and "alert" not in storage


def test_two_tabs_share_the_project_and_a_stranger_sees_nothing(page, bench, browser):
    from playwright.sync_api import expect

    other = page.context.new_page()
    other.goto(page.url)
    expect(other.get_by_role("heading", level=1)).to_be_visible()
    expect(other.get_by_role("textbox", name="Path of the file", exact=True)).not_to_have_value("")
    stranger = browser.new_context()
    for path in ("", "plan", "release", "ledger", "script", "bundle/1/report", "private/compare-1"):
        answer = stranger.new_page().goto(page.url + path)
        assert answer.status == 401
        assert "code book" not in answer.text()
    stranger.close()


OUTSIDE = (
    "bundle/1/..%2f..%2fproject.json",
    "bundle/1/schema.toml",
    "bundle/0/report",
    "bundle/-1/report",
    "private/..%2fx",
    "_nicegui/..%2f..%2f..%2fetc%2fpasswd",
)


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_address_reaches_a_file(page, bench, path):
    answer = page.context.request.get(page.url + path)
    assert answer.status in (404, 401, 403) and "release.json" not in answer.text() and "root:" not in answer.text()


def test_headers_of_the_real_server(page, bench):
    answer = page.context.request.get(page.url)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]
    assert answer.headers["cache-control"] == "no-store"
    request = urllib.request.Request(bench.address, headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    assert refused.value.code == 421
    refused.value.close()


def test_a_lock_takes_the_page_off_the_screen(page, bench):
    from playwright.sync_api import expect

    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.get_by_role("button", name="Lock").click()
    expect(page.get_by_text("Which table is it?")).to_have_count(0)  # both pages have a button "Open"
    expect(page.get_by_role("button", name="Open")).to_be_visible()


def test_a_dropped_file_is_kept_for_its_owner_alone(page, bench, tmp_path):
    from playwright.sync_api import expect

    place = tmp_path / "dropped people.csv"
    people(columns=7).to_csv(place, index=False)
    page.goto(bench.address)
    page.locator("input[type=file]").set_input_files(str(place))
    expect(page.get_by_text("7 of 7 columns")).to_be_visible()
    kept_file = bench.folder / "dropped" / "dropped people.csv"
    assert kept_file.stat().st_mode & 0o777 == 0o600 and kept_file.read_bytes() == place.read_bytes()
