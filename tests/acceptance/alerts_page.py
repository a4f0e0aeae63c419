"""Examples of the alerts page of the seeds, as it prints them; the tests change the host names of endpoints alone."""

from __future__ import annotations

import json
import re
from typing import Any

QUALITY = """
{
  "name": "CustomerDataQualityAlert",
  "displayName": "Customer Data Quality Alert",
  "alertType": "Observability",
  "description": "Alerts when customer data quality tests fail",
  "enabled": true,
  "trigger": {
    "triggerType": "RealTime"
  },
  "filteringRules": {
    "resources": ["testCase"],
    "rules": [
      {
        "name": "testFailureFilter",
        "effect": "include",
        "condition": "testStatus == 'Failed'"
      }
    ]
  },
  "destinations": [
    {
      "category": "External",
      "type": "Slack",
      "enabled": true,
      "config": {
        "endpoint": "https://hooks.slack.com/services/XXX/YYY/ZZZ"
      }
    },
    {
      "category": "Teams",
      "type": "Email",
      "enabled": true,
      "config": {
        "receivers": ["dataquality@company.com"],
        "sendToOwners": true,
        "sendToFollowers": false
      }
    }
  ],
  "owners": [
    {
      "type": "user",
      "name": "quality.lead"
    }
  ],
  "domains": [
    {
      "type": "domain",
      "name": "DataQuality"
    }
  ],
  "batchSize": 100,
  "retries": 3
}
"""

SCHEMA = """
{
  "name": "ProductionSchemaChangeAlert",
  "displayName": "Production Schema Change Alert",
  "alertType": "Notification",
  "description": "Alerts on unexpected schema changes in production tables",
  "enabled": true,
  "trigger": {
    "triggerType": "RealTime"
  },
  "filteringRules": {
    "resources": ["table"],
    "rules": [
      {
        "name": "schemaChangeFilter",
        "effect": "include",
        "condition": "eventType == 'entityUpdated' && fieldChanged == 'columns'"
      }
    ]
  },
  "destinations": [
    {
      "category": "External",
      "type": "MsTeams",
      "enabled": true,
      "config": {
        "endpoint": "https://outlook.office.com/webhook/XXX"
      }
    },
    {
      "category": "Owners",
      "type": "Email",
      "enabled": true,
      "config": {
        "sendToOwners": true,
        "sendToFollowers": true
      }
    }
  ],
  "owners": [
    {
      "type": "user",
      "name": "chief.data.officer"
    }
  ],
  "batchSize": 50,
  "retries": 3
}
"""

VIOLATION = """
{
  "name": "PIIAccessViolationAlert",
  "displayName": "PII Access Violation Alert",
  "alertType": "Notification",
  "description": "Alerts when unauthorized access to PII data is attempted",
  "enabled": true,
  "trigger": {
    "triggerType": "RealTime"
  },
  "filteringRules": {
    "resources": ["policy"],
    "rules": [
      {
        "name": "piiViolationFilter",
        "effect": "include",
        "condition": "eventType == 'policyViolation' && tags.contains('PII.Sensitive')"
      }
    ]
  },
  "destinations": [
    {
      "category": "External",
      "type": "Webhook",
      "enabled": true,
      "config": {
        "endpoint": "https://api.company.com/security/alerts",
        "headers": {
          "Authorization": "Bearer XXX"
        }
      }
    },
    {
      "category": "Admins",
      "type": "Email",
      "enabled": true,
      "config": {
        "receivers": ["security@company.com"],
        "sendToAdmins": true
      }
    }
  ],
  "owners": [
    {
      "type": "user",
      "name": "compliance.officer"
    }
  ],
  "domains": [
    {
      "type": "domain",
      "name": "Governance"
    }
  ],
  "batchSize": 10,
  "retries": 5
}
"""

PIPELINE = """
{
  "name": "ETLPipelineFailureAlert",
  "displayName": "ETL Pipeline Failure Alert",
  "alertType": "Observability",
  "description": "Alerts when daily ETL pipelines fail",
  "enabled": true,
  "trigger": {
    "triggerType": "RealTime"
  },
  "filteringRules": {
    "resources": ["pipeline"],
    "rules": [
      {
        "name": "pipelineFailureFilter",
        "effect": "include",
        "condition": "pipelineStatus == 'Failed' || pipelineStatus == 'PartialSuccess'"
      }
    ]
  },
  "destinations": [
    {
      "category": "External",
      "type": "Slack",
      "enabled": true,
      "config": {
        "endpoint": "https://hooks.slack.com/services/XXX"
      }
    },
    {
      "category": "Owners",
      "type": "Email",
      "enabled": true,
      "config": {
        "sendToOwners": true,
        "sendToFollowers": true
      }
    }
  ],
  "owners": [
    {
      "type": "team",
      "name": "DataEngineering"
    }
  ],
  "batchSize": 25,
  "retries": 3,
  "pollInterval": 60
}
"""

REVENUE = """
{
  "name": "RevenueAnomalyAlert",
  "displayName": "Revenue Anomaly Alert",
  "alertType": "Observability",
  "description": "Alerts when daily revenue drops below threshold",
  "enabled": true,
  "trigger": {
    "triggerType": "Scheduled",
    "scheduleInfo": "Daily",
    "cronExpression": "0 0 8 * * ?"
  },
  "filteringRules": {
    "resources": ["table"],
    "rules": [
      {
        "name": "revenueThresholdFilter",
        "effect": "include",
        "condition": "testCase.testCaseResult.testCaseStatus == 'Failed' && testCase.name == 'revenue_threshold_check'"
      }
    ]
  },
  "destinations": [
    {
      "category": "Teams",
      "type": "Email",
      "enabled": true,
      "config": {
        "receivers": ["finance@company.com"],
        "sendToOwners": true
      }
    }
  ],
  "owners": [
    {
      "type": "user",
      "name": "finance.director"
    }
  ],
  "domains": [
    {
      "type": "domain",
      "name": "Finance"
    }
  ],
  "batchSize": 50,
  "retries": 2
}
"""

SAMPLE = """
{
  "name": "SampleSubscription",
  "alertType": "Observability",
  "trigger": {
    "triggerType": "RealTime"
  },
  "filteringRules": {
    "resources": ["table"]
  },
  "destinations": [
    {
      "category": "Owners",
      "type": "Email",
      "config": {
        "sendToOwners": true
      }
    }
  ]
}
"""

CHANNELS = """
[
  {
    "category": "Teams",
    "type": "Email",
    "enabled": true,
    "timeout": 10,
    "readTimeout": 12,
    "config": {
      "receivers": ["team@company.com", "manager@company.com"],
      "sendToAdmins": false,
      "sendToOwners": true,
      "sendToFollowers": false
    }
  },
  {
    "category": "External",
    "type": "Slack",
    "enabled": true,
    "timeout": 10,
    "readTimeout": 12,
    "config": {
      "endpoint": "https://hooks.slack.com/services/XXX/YYY/ZZZ"
    }
  },
  {
    "category": "External",
    "type": "MsTeams",
    "enabled": true,
    "timeout": 10,
    "readTimeout": 12,
    "config": {
      "endpoint": "https://outlook.office.com/webhook/XXX"
    }
  },
  {
    "category": "External",
    "type": "GChat",
    "enabled": true,
    "timeout": 10,
    "readTimeout": 12,
    "config": {
      "endpoint": "https://chat.googleapis.com/v1/spaces/XXX/messages"
    }
  },
  {
    "category": "External",
    "type": "Webhook",
    "enabled": true,
    "timeout": 10,
    "readTimeout": 12,
    "config": {
      "endpoint": "https://api.company.com/alerts",
      "secretKey": "your-secret-key",
      "headers": {
        "Authorization": "Bearer XXX",
        "Content-Type": "application/json"
      },
      "httpMethod": "POST"
    }
  }
]
"""

DOWNSTREAM = """
{
  "category": "Owners",
  "type": "Email",
  "enabled": true,
  "notifyDownstream": true,
  "downstreamDepth": 3,
  "config": {
    "sendToOwners": true,
    "sendToFollowers": true
  }
}
"""

TRIAL = """
{
  "destination": {
    "category": "External",
    "type": "Slack",
    "config": {
      "endpoint": "https://hooks.slack.com/services/XXX"
    }
  }
}
"""

ALERTS = (QUALITY, SCHEMA, VIOLATION, PIPELINE, REVENUE, SAMPLE)


def read(example: str, receiver: str) -> Any:
    """Return an example with its endpoints at ``receiver``, by the same paths."""
    return json.loads(re.sub(r"https://[^/\"]+", receiver, example))
