"""Store and checkpoints of a small company, as the commit makes them that this file belongs to.

``python -m tests.acceptance.earlier_product DIR``, with the sources of that commit on the path.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.acceptance.crashing_pipeline import main as run_matches
from tests.acceptance.crashing_pipeline import main_of_streaks as run_streaks
from tests.company import SmallCompany

from tocsin.model.entity import Document
from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate

HOOK: Document = {"category": "External", "type": "Webhook", "config": {"endpoint": "http://127.0.0.1:9/hook"}}
OWNERS_MAIL: Document = {"category": "Owners", "type": "Email"}
FOLLOWERS_BELL: Document = {"category": "Followers", "type": "ActivityFeed"}


def main(folder: Path) -> None:
    """Write a company with alerts, three changes and two failed runs, and run the pipeline over all of it."""
    engine = open_engine(f"sqlite:///{folder / 'tocsin.db'}", synchronous="NORMAL")
    migrate(engine)
    company = SmallCompany(engine)
    company.pipeline("etl", owners=[{"type": "user", "name": "ana"}])
    company.clock.advance(1_000)
    company.alert("hook", [HOOK, OWNERS_MAIL], "fieldChanged == 'description'")
    company.alert("bell", [FOLLOWERS_BELL])
    company.alert("streak", [OWNERS_MAIL], "matchStatusInARow({'Failed'}, {3})")
    for number in range(3):
        company.describe("orders", f"change {number}")
    for _ in range(2):
        company.run("etl", "Failed")
    run_matches(folder, "nowhere")
    run_streaks(folder, "nowhere")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
