"""Tests of ``make truth`` at a small size: nothing differs; without relations of the past, it finds what is lost."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from tests.sparksession import SHORT_LIVED
from tests.whole import WHOLE
from truth.history import FOLDER, read_history
from truth.judgement import judge
from truth.script import Script, script_of
from truth.ways import Way

ROOT = Path(__file__).resolve().parents[2]
CHANGES = 120
WITHOUT_THE_PAST = '''
"""Takes past relations away from whoever imports this at its start: only those of now are found."""
from tocsin.flow.resolve import directory
from tocsin.store.alerts import relations_over_time as relations

held = relations._held


def _of_now(connection, current, relation, ids, from_offset):
    found = held(connection, current, relation, ids, directory.NO_END)
    return {one: [row._replace(span=(0, directory.NO_END)) for row in many] for one, many in found.items()}


relations._held = _of_now
'''

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not FOLDER.is_dir(), reason="needs the real history of ../shared/data"),
]


@pytest.fixture(scope="module")
def script() -> Script:
    return script_of(read_history(CHANGES, 3), 3)


def pipeline(*paths: Path) -> dict[str, str]:
    """Environment of a pipeline that lives for seconds."""
    places = os.pathsep.join(map(str, (*paths, ROOT / "src")))
    return {"TOCSIN_SPARK_CONF": json.dumps(SHORT_LIVED), "PYTHONPATH": places}


@pytest.mark.parametrize("way", [Way.AT_THE_END, Way.KILLED] if WHOLE else [Way.AT_THE_END])
def test_what_is_stored_is_what_must_be(script: Script, tmp_path: Path, way: Way) -> None:
    explained = 20 if way is Way.AT_THE_END else None
    done = judge(script, way, tmp_path, explained=explained, environment=pipeline())
    assert [one.text() for one in done.differences] == []
    assert done.notification_count > CHANGES


def test_recipients_of_now_are_found_to_be_wrong(script: Script, tmp_path: Path) -> None:
    (tmp_path / "patched").mkdir()
    (tmp_path / "patched" / "sitecustomize.py").write_text(WITHOUT_THE_PAST)
    (tmp_path / "store").mkdir()
    environment = pipeline(tmp_path / "patched")
    done = judge(script, Way.AT_THE_END, tmp_path / "store", explained=None, environment=environment)
    kinds = Counter(one.kind for one in done.differences)
    assert kinds["missing"] > 0
    assert kinds["unexpected"] > 0
