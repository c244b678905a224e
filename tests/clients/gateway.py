"""A gateway in a folder of its own, with a configuration and its hook scripts."""
import contextlib
import json
import os
import re
import subprocess
import tempfile
import threading
from pathlib import Path


class Gateway:
    """One that runs."""

    def __init__(self, binary, folder, url, admin):
        self.binary, self.folder, self.url, self.admin = binary, folder, url, admin

    def command(self, *arguments):
        """What a command of the gateway's own command line prints."""
        found = ["--admin", self.admin, "--config", "hookgate.yaml"]
        done = subprocess.run(
            [self.binary, *arguments, *found], cwd=self.folder, capture_output=True, text=True, timeout=120
        )
        if done.returncode:
            raise AssertionError(f"{' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout


@contextlib.contextmanager
def gateway(binary, files):
    """Runs `hookgate.yaml` of these files, contents by name, and gives the gateway."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text)
        command = [os.path.abspath(binary), "--log-format", "json", "serve", "--config", "hookgate.yaml"]
        process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        try:
            addr, admin = listening(process.stderr)
            log = Path(folder, "log")
            threading.Thread(target=keep, args=(process.stderr, log), daemon=True).start()
            yield Gateway(os.path.abspath(binary), folder, f"http://{addr}", f"http://{admin}")
        finally:
            process.terminate()
            process.wait(60)


def listening(log):
    """Both addresses; the log before them is the reason where there are none."""
    read = []
    for line in log:
        read.append(line)
        if re.search('"message":"listening"', line):
            entry = json.loads(line)
            return entry["addr"], entry["admin"]
    raise AssertionError("the gateway does not start: " + "".join(read))


def keep(log, file):
    """Nobody reads the log unless something fails, and a full pipe would stop the gateway."""
    with file.open("w") as kept:
        for line in log:
            kept.write(line)
            kept.flush()
