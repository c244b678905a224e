"""Real clients through a real gateway, against a scripted provider: no key, no network but the registries.

    python3 tests/clients/run.py sdk [--hookgate BINARY]                     # the official SDKs, Python and JavaScript
    python3 tests/clients/run.py agents [--hookgate BINARY] [claude codex opencode gemini]

Installs what it runs from PyPI and npm (into --installed, or a folder that is gone afterwards). One line per check; exits with 1
when one fails, with 3 when a registry can't be reached.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["sdk", "agents"])
    parser.add_argument("names", nargs="*", help="only these agents")
    parser.add_argument("--hookgate", default=HERE.parents[1] / "target/debug/hookgate", type=Path, metavar="BINARY")
    parser.add_argument("--installed", type=Path, metavar="FOLDER", help="where the clients are, or are to be, installed")
    parser.add_argument("--scenario", action="append", help="only these scenarios of agents")
    return parser.parse_args()


def npm(part, folder):
    """The packages of `part` in `folder`, in the versions that its package.json pins."""
    (folder / "package.json").write_bytes((HERE / part / "package.json").read_bytes())
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder, check=True)


def venv(folder):
    """A Python with the SDKs."""
    python = folder / "venv/bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    wanted = HERE / "sdk/requirements.txt"
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", wanted], check=True)
    return python


def main():
    wanted = arguments()
    with tempfile.TemporaryDirectory() as gone:
        folder = (wanted.installed or Path(gone)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        try:
            npm(wanted.part, folder)
            python = venv(folder) if wanted.part == "sdk" else sys.executable
        except subprocess.CalledProcessError as error:
            print(f"NOT RUN: {error}", file=sys.stderr)
            return 3
        only = [*wanted.names, *(f"--scenario={name}" for name in wanted.scenario or [])]
        command = [python, HERE / f"{wanted.part}_checks.py", wanted.hookgate.absolute(), folder, *only]
        return subprocess.run(command, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}).returncode


if __name__ == "__main__":
    sys.exit(main())
