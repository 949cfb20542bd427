"""A real JupyterLab on localhost, and a headless Chromium."""

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = "/usr/bin/chromium"
FLAGS = """
--no-sandbox --disable-gpu --disable-quic --no-first-run
--disable-background-networking --disable-component-update --disable-sync
""".split()

SIZE = {"width": 1280, "height": 800}
# JupyterLab without the grammar of web addresses that jsonschema builds for a second and a half and nothing here needs.
START = """import sys
sys.modules["rfc3987_syntax"] = None
from jupyterlab.labapp import main
main()"""
# Earlier runs make the notebook ask for a kernel.
READY = """() => {
    const context = window.jupyterapp?.shell.currentWidget?.sessionContext;
    return context?.isReady && context.session?.kernel?.status === "idle";
}"""
# Kernel errors become errors of the page's console. The icon of the tab, invisible here, would
# be fetched at every change between busy and idle: a quarter of a movement's time.
WATCHED = """() => {
    document.querySelectorAll("link.favicon").forEach((icon) => icon.remove());
    window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.anyMessage.connect((_, { msg, direction }) => {
        const { name, ename } = msg.content;
        if (direction === "recv" && (ename || name === "stderr")) console.error(`kernel: ${JSON.stringify(msg.content)}`);
    });
}"""
# JupyterLab asks every fresh kernel for its widgets, before anything has imported ipywidgets there.
HARMLESS = ("No such comm", "jupyter.widget.control")


class Server:
    """A JupyterLab in its own directory; `log` holds its and its kernels' output."""

    def __init__(self, folder: Path):
        self.folder, self.log = folder, folder / "server.log"
        home = folder / "home"
        settings = home / "settings" / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True)
        (settings / "notification.jupyterlab-settings").write_text(
            '{"fetchNews": "false", "checkForUpdates": false}'
        )
        (settings / "themes.jupyterlab-settings").write_text('{"theme": "JupyterLab Light"}')
        runtime = home / "runtime"
        environment = os.environ | {
            "JUPYTER_CONFIG_DIR": str(home / "config"),
            "JUPYTER_DATA_DIR": str(home / "data"),
            "JUPYTER_RUNTIME_DIR": str(runtime),
            "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
            "IPYTHONDIR": str(home / "ipython"),
            "PYTHONPATH": str(ROOT),
            "JUPYTER_PLATFORM_DIRS": "1",
            "ACLNN_VIZ_LANG": "en",
        }
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    START,
                    "--no-browser",
                    "--allow-root",
                    "--ServerApp.ip=127.0.0.1",
                    "--ServerApp.port=0",
                    "--IdentityProvider.token=",
                    "--ServerApp.password=",
                    f"--ServerApp.root_dir={folder}",
                    "--LabApp.expose_app_in_browser=True",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=folder,
            )
        deadline = time.monotonic() + 60
        while not (
            found := [
                text for path in runtime.glob("jpserver-*.json") if (text := path.read_text())
            ]
        ):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"JupyterLab did not start:\n{self.log.read_text()}")
            time.sleep(0.1)
        self.url = json.loads(found[0])["url"]

    def notebook(self, name: str, *cells: str) -> str:
        """Write a notebook and return the address that opens it."""
        made = new_notebook(cells=[new_code_cell(cell) for cell in cells])
        made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
        nbformat.write(made, self.folder / name)
        return f"{self.url}lab/tree/{name}?reset"

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextmanager
def laboratory(folder: Path):
    server = Server(folder)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def chromium():
    """Yield a headless browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Notebook:
    """A notebook opened and run; `faults` collects errors on either side."""

    def __init__(self, browser, server: Server, name: str, *cells: str):
        self.server = server
        self.forget()
        self.page = browser.new_page(viewport=SIZE, reduced_motion="reduce")
        self.page.on("pageerror", lambda error: self.faults.append(f"page: {error}"))
        self.page.on("console", self._console)
        self.page.goto(server.notebook(name, *cells))
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        self.page.wait_for_function(READY, timeout=60_000)
        self.page.evaluate(WATCHED)
        self.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells') }")

    def forget(self):
        """Clear the faults."""
        self.faults, self._logged = [], len(self.server.log.read_bytes())

    def _console(self, message):
        if message.type == "error" and not any(text in message.text for text in HARMLESS):
            self.faults.append(f"console: {message.text[:2000]}")

    def all_faults(self) -> list[str]:
        printed = self.server.log.read_bytes()[self._logged :].decode(errors="replace")
        _, sign, trace = printed.partition("Traceback")
        return self.faults + ([f"server: {trace[:2000]}"] if sign else [])

    def close(self):
        self.page.close()
