"""Validation rules for profiles, in OpenMetadata 1.13's form.

Source: schemas ``entity/data/table.json``. Next: ``catalogue/observations/profiles.py``.
"""

from __future__ import annotations

from tocsin.catalogue.observations.field_checks import (
    anything,
    each,
    flag,
    moment,
    name,
    number,
    one_of,
    shape,
    text,
    whole,
)
from tocsin.errors import InvalidInput

OPERATIONS = ("UPDATE", "INSERT", "DELETE", "WRITE")
"""What the operations of system profiles may be."""

_METRICS = each(shape({}, {"name": text, "value": number}))
_NUMBERS = (
    "valuesCount valuesPercentage validCount duplicateCount nullCount nullProportion missingPercentage missingCount "
    "uniqueCount uniqueProportion distinctCount distinctProportion minLength maxLength mean sum stddev variance median "
    "firstQuartile thirdQuartile interQuartileRange nonParametricSkew"
).split()


def _extreme(value: object, path: str) -> None:
    """Accept a number or a text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InvalidInput(f"{path} must be a number or a string", field=path)


TABLE_PROFILE = shape(
    {"timestamp": moment},
    {
        "profileSample": number,
        "profileSampleType": one_of("PERCENTAGE", "ROWS"),
        "samplingMethodType": one_of("BERNOULLI", "SYSTEM"),
        "columnCount": number,
        "rowCount": number,
        "sizeInByte": number,
        "createDateTime": text,
        "customMetrics": _METRICS,
    },
)
COLUMN_PROFILE = shape(
    {"name": name, "timestamp": moment},
    {
        **dict.fromkeys(_NUMBERS, number),
        "min": _extreme,
        "max": _extreme,
        "histogram": shape({}, {"boundaries": each(anything), "frequencies": each(anything)}),
        "customMetrics": _METRICS,
        "cardinalityDistribution": shape(
            {},
            {"categories": each(text), "counts": each(whole), "percentages": each(number), "allValuesUnique": flag},
        ),
    },
)
SYSTEM_PROFILE = shape({"timestamp": moment, "operation": one_of(*OPERATIONS)}, {"rowsAffected": whole})
PROFILE_REQUEST = shape(
    {"tableProfile": TABLE_PROFILE},
    {"columnProfile": each(COLUMN_PROFILE), "systemProfile": each(SYSTEM_PROFILE)},
)
"""The profiles of a table, of its columns, and of the statements that changed it."""

SHOWING_VALUES = frozenset(
    "min max mean sum median firstQuartile thirdQuartile interQuartileRange histogram cardinalityDistribution".split()
)
"""Keys of a column's profile that show values, and not just how many there are."""
