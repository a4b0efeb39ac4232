"""Opens pages in headless Chromium through its debugging pipe. Only the browser needs to be installed."""
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
TIMEOUT = 60  # seconds for one answer


class Chromium:
    """A browser with one page at a time. `messages` are those of the console since the page was opened, `requests` all
    requests for files or servers."""

    def __init__(self):
        self.profile = tempfile.mkdtemp()
        to_browser, commands = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in os.pipe())
        answers, from_browser = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in os.pipe())

        def wire():
            os.dup2(to_browser, 3)
            os.dup2(from_browser, 4)

        self.browser = subprocess.Popen(
            [PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
             "--disable-background-networking", "--disable-extensions", "--remote-debugging-pipe",
             f"--user-data-dir={self.profile}", "about:blank"],
            close_fds=False, preexec_fn=wire, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.commands, self.answers = commands, answers
        self.text, self.numbers, self.session, self.target = b"", itertools.count(1), None, None
        self.messages, self.requests, self.loaded = [], [], False

    def open(self, path, width=1200, height=900):
        """Opens a file in place of the current page, with the light colour scheme, and waits until it is drawn."""
        self.session, last = None, self.target
        self.target = self.call("Target.createTarget", url="about:blank")["targetId"]
        if last:
            self.call("Target.closeTarget", targetId=last)
        self.session = self.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.set_dark(False)
        self.messages, self.requests, self.loaded = [], [], False
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while not self.loaded:
            self.receive()
        self.draw()

    def draw(self):
        """Waits until all changes are drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def close(self):
        self.session = None
        self.call("Browser.close")
        try:
            self.browser.wait(10)
        except subprocess.TimeoutExpired:
            self.browser.kill()
            self.browser.wait()
        os.close(self.commands)
        os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self):
        """The next message of the browser."""
        while b"\0" not in self.text:
            if not select.select([self.answers], [], [], TIMEOUT)[0]:
                raise TimeoutError("Chromium does not answer")
            more = os.read(self.answers, 1 << 20)
            if not more:
                raise EOFError("Chromium has ended")
            self.text += more
        first, self.text = self.text.split(b"\0", 1)
        message = json.loads(first)
        event, what = message.get("method"), message.get("params", {})
        if event == "Page.loadEventFired":
            self.loaded = True
        elif event == "Runtime.consoleAPICalled":
            self.messages.append(str([argument.get("value") for argument in what["args"]]))
        elif event == "Runtime.exceptionThrown":
            self.messages.append(what["exceptionDetails"].get("exception", {}).get("description", str(what)))
        elif event == "Log.entryAdded":
            self.messages.append(what["entry"]["text"])
        elif event == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])
        return message

    def call(self, method, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == number:
                break
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def evaluate(self, script):
        """The value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description", str(result)))
        return result["result"].get("value")

    def set_dark(self, dark):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def mouse(self, kind, x, y, **more):
        """An event such as "mouseMoved" at a point of the window."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def middle(self, selector):
        """The middle of the first element that matches, after scrolling it into the window."""
        return self.evaluate("(() => { const element = document.querySelector(%s); element.scrollIntoView({block: 'center'});"
                             " const box = element.getBoundingClientRect();"
                             " return [box.x + box.width / 2, box.y + box.height / 2]; })()" % json.dumps(selector))

    def screenshot_url(self):
        """The window as a PNG, in a data URL."""
        return "data:image/png;base64," + self.call("Page.captureScreenshot", format="png")["data"]
