"""Methods of the client that no check calls, each with the reason; and the check that there are no others."""

from __future__ import annotations

from typing import Any

from checks.checking import CHECKS, CheckSetup, check
from metadata.ingestion.ometa.ometa_api import OpenMetadata

_NO_CONTRACTS = "Tocsin has no data contracts"
_NO_INSIGHTS = "Tocsin has no data insights, KPIs or web analytics"
_NO_ANNOUNCEMENTS = "announcements are deleted for good"
_NO_LOGS = "Tocsin keeps no logs of ingestion pipelines"
_NO_PROGRESS = "Tocsin keeps the runs of ingestion pipelines, not their progress"
_NO_APPS = "Tocsin has no applications; its index follows the log"
_NO_DRIVES = "Tocsin has no drives"
_NO_PORTS = "Tocsin has no ports of data products"
_BY_WEBSOCKET = "the answer comes over OpenMetadata's own websocket"

_SINCE_2 = {
    "restore_announcement": _NO_ANNOUNCEMENTS,
    "create_post": "it reads a post, and is answered with the thread that holds it, as 1.13 does",
}
LEFT_OUT = {
    **(_SINCE_2 if hasattr(OpenMetadata, "create_thread") else {}),
    **dict.fromkeys(
        "put_data_contract_result get_data_contract_results get_latest_data_contract_result "
        "get_data_contract_result_by_id get_data_contract_by_entity_id delete_data_contract_result "
        "validate_data_contract export_to_odcs export_to_odcs_by_fqn export_to_odcs_yaml export_to_odcs_yaml_by_fqn "
        "import_from_odcs import_from_odcs_yaml create_or_update_from_odcs create_or_update_from_odcs_yaml "
        "validate_data_contract_by_entity_id validate_data_contract_request validate_data_contract_request_yaml "
        "validate_odcs_yaml parse_odcs_yaml delete_data_contract_results_before".split(),
        _NO_CONTRACTS,
    ),
    **dict.fromkeys(
        "add_data_insight_report_data add_kpi_result add_web_analytic_events get_data_insight_report_data "
        "get_aggregated_data_insight_results get_kpi_result create_kpi get_web_analytic_events "
        "delete_web_analytic_event_before_ts_exclusive delete_report_data_at_date delete_report_data".split(),
        _NO_INSIGHTS,
    ),
    **dict.fromkeys(
        "send_logs_to_s3 send_logs_batch send_logs_batch_best_effort send_close_best_effort create_log_stream "
        "close_log_stream get_logs_from_s3".split(),
        _NO_LOGS,
    ),
    **dict.fromkeys("send_progress_update send_operation_metrics_batch get_progress_state".split(), _NO_PROGRESS),
    **dict.fromkeys("reindex is_reindex_app_running".split(), _NO_APPS),
    **dict.fromkeys("ingest_file_sample_data get_file_sample_data".split(), _NO_DRIVES),
    **dict.fromkeys(
        "add_input_ports_to_data_product remove_input_ports_from_data_product add_output_ports_to_data_product "
        "remove_output_ports_from_data_product".split(),
        _NO_PORTS,
    ),
    **dict.fromkeys("export_csv_async import_csv_async".split(), _BY_WEBSOCKET),
    "run_pipeline": "Tocsin does not run ingestion pipelines",
    "patch_automation_workflow_response": "Tocsin has no automation workflows",
    "get_ingestion_pipeline_by_name": "it returns None, whatever a server answers (it asks a dict for an attribute)",
    "get_mlmodel_sklearn": "it needs scikit-learn, and asks the server no more than get_service_or_create does",
    "get_query_with_lineage_filter": "it asks nothing: a text for es_get_queries_with_lineage",
    "stream": "it reads the answers of OpenMetadata's AI",
    "email_search_query_es": "it asks nothing: a text for get_reference_by_email",
    "name_search_query_es": "it asks nothing: a text for get_reference_by_name",
    "version_to_str": "it asks nothing: a text for get_entity_version",
    "get_module_path": "it asks nothing: a text for create_or_update",
    "update_file_name": "it asks nothing: a text for create_or_update",
}
"""Why each method that no check calls is left out."""


def _methods() -> set[str]:
    """Return the names of all public methods of the client, its mixins' included."""
    return {
        name
        for base in OpenMetadata.__mro__
        if base.__module__.startswith("metadata.ingestion.ometa")
        for name, value in vars(base).items()
        if not name.startswith("_") and _is_method(value)
    }


def _is_method(value: Any) -> bool:
    return callable(value) or isinstance(value, classmethod | staticmethod | property)


@check("", "every public method of the client is called by a check, or left out for a reason")
def _complete(setup: CheckSetup) -> None:
    assert setup.entities
    called = {name for one in CHECKS for name in one.methods}
    missing = _methods() - called - LEFT_OUT.keys()
    assert not missing, sorted(missing)
    needless = LEFT_OUT.keys() & called | LEFT_OUT.keys() - _methods()
    assert not needless, sorted(needless)
