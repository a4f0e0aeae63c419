"""Tables of what SQL queries on the lake may consist of: functions, and parts of Spark's plans by their classes.

Not on the lists: files, the environment, Java and its reflection, the session's user, XML, encryption, sketches.
Names are those of Spark 4.3. Next: ``spark/lake_sql.py``.
"""

from __future__ import annotations

GROWING = frozenset(
    """
    array_agg array_repeat collect_list collect_set collect_union format_string listagg lpad map_concat printf repeat
    rpad sequence space string_agg
    """.split()
)
"""Functions that make large values of small ones, or keep all values of a group."""

BACKTRACKING = frozenset(
    """
    RLike RegExpCount RegExpExtract RegExpExtractAll RegExpInStr RegExpReplace RegExpSubStr StringSplit StringToMap
    """.split()
)
"""Functions, by class, that match regular expressions: that may take for ever, and cancelling does not end it."""

MOST_WILDCARDS = 3
"""``%`` in a pattern of ``LIKE`` that is matched fast enough: it is a regular expression, too."""

FUNCTIONS = GROWING | frozenset(
    """
    ! % & * + - / < << <= <=> = == > >= >> >>> ^ | ~ and between in not or like ilike rlike regexp regexp_like
    isnull isnotnull isnan equal_null when if ifnull nvl nvl2 nullif nullifzero zeroifnull nanvl coalesce

    any any_value approx_count_distinct approx_percentile avg bit_and bit_or bit_xor bool_and bool_or corr count
    count_if covar_pop covar_samp every first first_value grouping grouping_id kurtosis last last_value max max_by mean
    median min min_by mode percentile percentile_approx percentile_cont percentile_disc skewness some std stddev
    stddev_pop stddev_samp sum try_avg try_sum var_pop var_samp variance

    cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number window window_time session_window

    abs acos acosh asin asinh atan atan2 atanh bigint bin bit_count bit_get bit_length boolean bround cbrt ceil ceiling
    conv cos cosh cot csc decimal degrees div double e exp expm1 factorial float floor getbit greatest hash hex hypot
    int least ln log log10 log1p log2 mod negative pi pmod positive pow power radians random rand randn rint round sec
    shiftleft shiftright shiftrightunsigned sign signum sin sinh smallint sqrt tan tanh tinyint try_add try_divide
    try_mod try_multiply try_subtract unhex width_bucket xxhash64

    ascii base64 binary btrim char char_length character_length chr collate collation concat concat_ws contains crc32
    decode elt encode endswith find_in_set format_number initcap instr is_valid_utf8 lcase left len length levenshtein
    locate lower ltrim luhn_check make_valid_utf8 mask md5 octet_length overlay parse_url position quote regexp_count
    regexp_extract regexp_extract_all regexp_instr regexp_replace regexp_substr replace reverse right rtrim sha sha1
    sha2 soundex split split_part startswith string substr substring substring_index to_binary to_char to_number
    to_varchar translate trim try_parse_url try_to_binary try_to_number try_url_decode typeof ucase unbase64 upper
    url_decode url_encode uuid

    add_months convert_timezone curdate current_date current_time current_timestamp current_timezone date date_add
    date_diff date_format date_from_unix_date date_part date_sub date_trunc dateadd datediff datepart day dayname
    dayofmonth dayofweek dayofyear extract from_unixtime from_utc_timestamp hour last_day localtimestamp make_date
    make_dt_interval make_interval make_timestamp make_timestamp_ltz make_timestamp_ntz make_ym_interval minute month
    monthname months_between next_day now quarter second timestamp timestamp_micros timestamp_millis timestamp_seconds
    to_date to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp trunc try_to_date
    try_to_timestamp unix_date unix_micros unix_millis unix_seconds unix_timestamp weekday weekofyear year

    aggregate array array_append array_compact array_contains array_distinct array_except array_insert array_intersect
    array_join array_max array_min array_position array_prepend array_remove array_size array_sort array_union
    arrays_overlap arrays_zip cardinality element_at exists explode explode_outer filter flatten forall get inline
    inline_outer map map_contains_key map_entries map_filter map_from_arrays map_from_entries map_keys map_values
    map_zip_with named_struct posexplode posexplode_outer reduce size slice sort_array stack str_to_map struct
    transform transform_keys transform_values try_element_at zip_with

    from_csv from_json get_json_object is_variant_null json_array_length json_object_keys json_tuple parse_json to_csv
    to_json to_variant_object try_parse_json try_variant_get variant_get
    """.split()
)
"""Functions by name; the session of queries has no others."""

TABLE_FUNCTIONS = frozenset(
    """
    explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer range stack variant_explode
    variant_explode_outer
    """.split()
)
"""Functions that give rows."""

PLANS = frozenset(
    """
    Aggregate CTERelationDef CTERelationRef Deduplicate Distinct Except Expand Filter Generate GlobalLimit Intersect
    Join LateralJoin LocalLimit LocalRelation Offset OneRowRelation PipeOperator Pivot Project Range
    ResolvedInlineTable Sample Sort SubqueryAlias Union UnresolvedHaving UnresolvedInlineTable UnresolvedRelation
    UnresolvedSubqueryColumnAliases UnresolvedTVFAliases UnresolvedTableValuedFunction UnresolvedWith Unpivot View
    Window WithCTE WithWindowDefinition
    """.split()
)
"""Operators of plans, parsed and analysed."""

EXPRESSIONS = frozenset(
    """
    AggregateExpression Alias AttributeReference CaseWhen Cast CheckOverflow CommonExpressionDef CommonExpressionRef
    CurrentRow Exists GetArrayItem GetArrayStructFields GetMapValue GetStructField InSubquery Invoke KnownNullable
    LambdaFunction LateralSubquery ListQuery Literal NamedLambdaVariable NullIfResult OuterReference
    PreciseTimestampConversion ResolvedCollation ScalarSubquery SortOrder SpecifiedWindowFrame StaticInvoke TimestampAdd
    TimestampDiff TryEval UnaryMinus UnaryPositive UnboundedFollowing UnboundedPreceding UnspecifiedFrame
    WindowExpression WindowSpecDefinition With

    BinaryPad BinaryPredicate Ceil Collate Contains CurrentTimestamp DateAdd DateAddInterval DateAddYMInterval DateSub
    DatetimeSub DivideDTInterval DivideInterval DivideYMInterval EndsWith Explode ExtractANSIIntervalDays
    ExtractANSIIntervalHours ExtractANSIIntervalMinutes ExtractANSIIntervalMonths ExtractANSIIntervalSeconds
    ExtractANSIIntervalYears Floor Hour Inline LocalTimestamp MakeTimestamp MakeTimestampFromDateTime MakeTimestampNTZ
    Mask MaxBy MaxMinByK MinBy Minute Mode MultiplyDTInterval MultiplyInterval MultiplyYMInterval Now ParseJson
    PercentileCont PercentileDisc PivotFirst PosExplode RoundCeil RoundFloor Second SecondWithFraction StartsWith
    StringDecode StringInstr StringInstrWithOccurrence StringLPad StringRPad SubtractDates SubtractTimestamps
    TimestampAddInterval TimestampAddYMInterval ToCharacter VariantGet
    """.split()
)
"""Expressions of analysed plans, by class: those that are no functions, and those that functions become."""
