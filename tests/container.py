"""What can be proven of the image without a container engine: python3 tests/container.py BINARY, as root, with bubblewrap.

The static binary in a tree of nothing but itself, certificates, its configuration and the volume: read-only root, no network but loopback, a
user that owns nothing. Checks that it starts, finds itself healthy, stays small, writes nowhere else and ends in order.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CONFIG = Path(__file__).parents[1] / "docker/hookgate.yaml"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
USER = 65532
MIB = 1024 * 1024
BINARY_AT_MOST, IDLE_AT_MOST = 40 * MIB, 25 * MIB
PATIENCE = 60


def expect(what, condition, found=""):
    print(f"{'ok  ' if condition else 'FAIL'}  {what} {found}".rstrip())
    if not condition:
        sys.exit(1)


def started(binary, data, log):
    """bubblewrap with the gateway in it, and the gateway's process id out here."""
    read, write = os.pipe()
    tree = ["--ro-bind", binary, "/hookgate", "--ro-bind", CONFIG, "/etc/hookgate/hookgate.yaml", "--bind", data, "/data", "--ro-bind", CERTIFICATES, CERTIFICATES]
    box = ["--unshare-all", "--uid", str(USER), "--gid", str(USER), "--cap-drop", "ALL", "--dev", "/dev", "--proc", "/proc"]
    command = ["/hookgate", "--log-format", "json", "serve", "--config", "/etc/hookgate/hookgate.yaml"]
    process = subprocess.Popen(
        ["bwrap", *box, *tree, "--remount-ro", "/", "--clearenv", "--die-with-parent", "--as-pid-1", "--info-fd", str(write), *command],
        pass_fds=[write], stderr=log,
    )
    os.close(write)
    with os.fdopen(read) as info:
        return process, json.load(info)["child-pid"]


def health(pid):
    """The image's health check, run where the engine would run it."""
    inside = ["nsenter", "--target", str(pid), "--preserve-credentials", "--user", "--mount", "--net", "--pid", "/hookgate"]
    return subprocess.run([*inside, "health", "--admin", "http://127.0.0.1:8788"], capture_output=True, text=True)


def main():
    binary = Path(sys.argv[1]).absolute()
    headers = subprocess.run(["readelf", "-l", "-d", binary], capture_output=True, text=True, check=True).stdout
    expect("static: no interpreter, no libraries", "INTERP" not in headers and "(NEEDED)" not in headers)
    size = binary.stat().st_size
    expect("small enough", size <= BINARY_AT_MOST, f"{size / MIB:.1f} MiB")
    with tempfile.TemporaryDirectory() as folder:
        data, log = Path(folder, "data"), Path(folder, "log")
        data.mkdir()
        os.chmod(folder, 0o755)
        with log.open("w") as lines:
            process, pid = started(binary, data, lines)
        deadline = time.monotonic() + PATIENCE
        while (answer := health(pid)).returncode and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.1)
        expect("healthy, without a shell, a libc and a writable root", answer.stdout == "ready\n", answer.stderr)
        status = Path(f"/proc/{pid}/status").read_text()
        resident = int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024
        own = int(re.search(r"RssAnon:\s+(\d+)", status)[1]) * 1024
        expect("idle memory", resident <= IDLE_AT_MOST, f"{resident / MIB:.1f} MiB, of which {own / MIB:.1f} MiB are its own")
        written = sorted(str(file.relative_to(data)) for file in data.rglob("*") if file.is_file())
        expect("store and token are in the volume", "admin.token" in written and "sled/db" in written, f"{written[:3]}")
        os.kill(pid, 15)
        expect("ends in order", process.wait(PATIENCE) == 0)


if __name__ == "__main__":
    main()
