"""Results of promptfoo: an evaluation with the echo provider, which sends nothing anywhere.

    python write_promptfoo.py NODE PROMPTFOO

``NODE`` is a Node.js of at least version 22, ``PROMPTFOO`` the folder of the installed package.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fixture_samples import SAMPLES, write_json, write_text

OFFLINE = {
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "PROMPTFOO_DISABLE_SHARING": "1",
}

node, package = sys.argv[1:]
config = {
    "description": "port",
    "prompts": ["{{answer}}"],
    "providers": ["echo"],
    "tests": [
        {
            "description": sample["id"],
            "vars": {
                "question": sample["question"],
                "answer": sample["answer"],
                "context": sample["contexts"],
            },
            # Otherwise each item of a list is a test of its own.
            "options": {"disableVarExpansion": True},
            "assert": [
                {"type": "contains", "value": sample["answer"][:3]},
                {"type": "levenshtein", "threshold": 60, "value": sample["ground_truth"]},
            ],
        }
        for sample in SAMPLES
    ],
}
with tempfile.TemporaryDirectory() as folder:
    home = Path(folder)
    (home / "config.json").write_text(json.dumps(config), encoding="utf-8")
    main = Path(package) / json.loads((Path(package) / "package.json").read_text())["bin"][
        "promptfoo"
    ].removeprefix("./")
    command = [node, str(main), "eval", "-c", "config.json", "--no-cache", "--no-table"]
    command += ["--no-progress-bar", "-o", "results.json", "-o", "results.jsonl"]
    # Exit code 100 says that an assertion failed, which is no concern here.
    ran = subprocess.run(
        command,
        cwd=home,
        env={**os.environ, **OFFLINE, "PROMPTFOO_CONFIG_DIR": folder},
        check=False,
    )
    print(f"promptfoo ended with {ran.returncode}")
    document = json.loads((home / "results.json").read_text("utf-8"))
    lines = (home / "results.jsonl").read_text("utf-8")
# Without the configuration and what is known of the machine.
write_json("promptfoo.json", {"evalId": document["evalId"], "results": document["results"]})
write_text("promptfoo.jsonl", lines)
