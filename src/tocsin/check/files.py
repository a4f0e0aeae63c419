"""Files that a check reads: a dbt project, SQL migrations or message schemas. Next: ``check/report.py``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tocsin.check.dbt_projects import ProjectComparison
from tocsin.check.proposals import FiledProposal, Progress, Remark
from tocsin.check.schema_files import schema_proposals
from tocsin.check.sql_files import MigrationReader, SqlPlaces
from tocsin.errors import InvalidInput
from tocsin.sources.dbt.artifacts import read_artifacts


@dataclass(frozen=True)
class CheckedFiles:
    """What is checked: one of a dbt target folder, migrations, or a folder of schemas.

    Attributes
    ----------
    service : name of the service that holds the tables or topics
    base : the same folder before the change; migrations have none
    folder : where the dbt project is in the repository
    places : where tables are that migrations name in part
    """

    service: str
    places: SqlPlaces
    dbt: Path | None = None
    sql: Sequence[Path] = ()
    schemas: Path | None = None
    base: Path | None = None
    folder: str = ""

    def proposals(self, remark: Remark, progress: Progress = lambda done, total: None) -> list[FiledProposal]:
        """Return what the files change; ``remark`` takes what could not be checked, ``progress`` how far it is.

        Raises
        ------
        InvalidInput : it is not clear what to check, or a file or folder is not what it is said to be
        """
        if not self.service.strip():
            raise InvalidInput("name the service of the tables or topics", field="--service")
        if sum(map(bool, (self.dbt, self.sql, self.schemas))) != 1:
            raise InvalidInput("give one of --dbt, --sql and --schemas")
        if self.sql:
            return MigrationReader(self.places, remark).read(self.sql)
        if self.base is None:
            raise InvalidInput("is missing: the folder as it was before the change", field="--base")
        if self.schemas is not None:
            return list(schema_proposals(self.base, self.schemas, self.service))
        return self._project_proposals(self.base, remark, progress)

    def _project_proposals(self, base: Path, remark: Remark, progress: Progress) -> list[FiledProposal]:
        assert self.dbt is not None, "what is checked is no project"  # noqa: S101
        states = [read_artifacts(folder, remark, str(folder), with_results=False) for folder in (base, self.dbt)]
        comparison = ProjectComparison(states[0], states[1], self.service, remark, self.folder, progress)
        return list(comparison.proposals())
