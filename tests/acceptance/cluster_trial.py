"""Trial of ``docs/cluster.md`` on one machine: ``make cluster``.

Starts PostgreSQL, a master, two workers and the pipeline in a temporary folder, lets tables change, and prints what
came of it. An argument names a folder that is kept.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.company import SmallCompany
from tests.postgres import MISSING, binaries, running_cluster
from tests.spark.test_match_stream import expected_notifications, stored_notifications
from tests.sparkcluster import guided_cluster, is_through
from tests.waiting import until

from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate

_CHANGES = 200
_WITHIN_S = 500


def main(folder: Path) -> None:
    """Run the trial with files in ``folder``; end with an error if anybody was told too much or too little."""
    programs = binaries()
    if programs is None:
        raise SystemExit(MISSING)
    with running_cluster(programs) as postgres:
        postgres.run("CREATE DATABASE trial")
        engine = open_engine(postgres.url("trial"))
        migrate(engine)
        company = SmallCompany(engine)
        destinations = [{"category": "Owners", "type": "Email"}, {"category": "Followers", "type": "ActivityFeed"}]
        company.alert("all", destinations, resources=("table",))
        for number in range(_CHANGES):
            company.describe("orders", f"text {number}")
        _say("Starting a master and two workers as docs/cluster.md says")
        with guided_cluster(folder, postgres.url("trial")) as cluster:
            _say(f"Starting the pipeline:\n{cluster.pipeline_command.replace(cluster.secret, '<the secret>')}")
            with cluster.pipeline() as pipeline:
                until(lambda: pipeline.poll() is not None or is_through(engine), within_s=_WITHIN_S)
        stored_rows, expected_rows = stored_notifications(engine), expected_notifications(company)
        engine.dispose()
    _say("The pipeline printed:\n" + "\n".join(cluster.driver_lines()))
    verdict = "equal" if stored_rows == expected_rows else "NOT equal"
    _say(f"{len(stored_rows)} notifications, {len(expected_rows)} expected ones: {verdict}")
    unexplained_lines = cluster.unexplained_lines()
    _say(
        f"{len(unexplained_lines)} lines of driver and executors that the guide does not explain\n"
        + "\n".join(unexplained_lines)
    )
    if stored_rows != expected_rows or unexplained_lines or pipeline.returncode:
        raise SystemExit(1)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n\n")
    sys.stdout.flush()


@contextmanager
def _folder() -> Iterator[Path]:
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1]).absolute()
        folder.mkdir()
        yield folder
    else:
        with tempfile.TemporaryDirectory(prefix="tocsin-cluster-") as name:
            yield Path(name)


if __name__ == "__main__":
    with _folder() as trial_folder:
        main(trial_folder)
