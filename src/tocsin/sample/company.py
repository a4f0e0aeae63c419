"""People, teams, bots and domains of Fernhill Outfitters, the fictional company of the sample.

Tables only; what the company owns is in ``tables/*.csv``. Next: ``sample/rows.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAIL_DOMAIN = "fernhill.example.com"

DEMO_PERSON = "dana.whitlock"
"""The one person of the sample who gets a password, drawn when the sample is loaded and shown once."""

DEMO_FOLLOWS = (
    "postgres_prod.ecommerce.public.customers",
    "postgres_prod.ecommerce.public.orders",
    "superset.sales_dashboard",
    "airflow.customer_etl",
)
"""What the demo person follows. Source: the example answer of seeds/000 "View All Assets a User Follows"."""


@dataclass(frozen=True)
class TeamRow:
    """One team and the team it is part of."""

    name: str
    kind: str
    parent: str | None
    description: str

    @property
    def display_name(self) -> str:
        """The name as people write it."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", self.name)


@dataclass(frozen=True)
class PersonRow:
    """One person, their team, and their share of metadata edits compared with their colleagues."""

    name: str
    team: str
    title: str
    busyness: int = 1

    @property
    def display_name(self) -> str:
        """The name as people write it."""
        return " ".join(part.capitalize() for part in self.name.split("."))

    @property
    def email(self) -> str:
        """The address, at a domain that cannot exist."""
        return f"{self.name}@{MAIL_DOMAIN}"


@dataclass(frozen=True)
class DomainRow:
    """One business domain and the team that answers for it."""

    name: str
    kind: str
    team: str
    description: str


TEAMS = (
    TeamRow("Fernhill", "BusinessUnit", None, "Fernhill Outfitters, outdoor gear since 1987."),
    TeamRow("Technology", "Division", "Fernhill", "Builds and runs the shop and its data."),
    TeamRow("ShopEngineering", "Group", "Technology", "Builds the shop and owns its database."),
    TeamRow("DataPlatform", "Department", "Technology", "Warehouse, pipelines and reports."),
    TeamRow("DataEngineering", "Group", "DataPlatform", "Loads the warehouse and keeps its pipelines running."),
    TeamRow("AnalyticsEngineering", "Group", "DataPlatform", "Models the warehouse: staging and marts."),
    TeamRow("DataGovernance", "Group", "DataPlatform", "Classifies data and assigns owners."),
    TeamRow("Commerce", "Division", "Fernhill", "Buying, pricing and selling."),
    TeamRow("Merchandising", "Group", "Commerce", "Chooses and prices what is sold."),
    TeamRow("Marketing", "Group", "Commerce", "Brings customers to the shop."),
    TeamRow("CustomerCare", "Group", "Commerce", "Answers customers."),
    TeamRow("Finance", "Group", "Fernhill", "Invoices, payments and the books."),
    TeamRow("Logistics", "Group", "Fernhill", "Stock, parcels and returns."),
)

PEOPLE = (
    PersonRow("dana.whitlock", "AnalyticsEngineering", "Analytics engineer", 6),
    PersonRow("tomas.ferreira", "AnalyticsEngineering", "Lead analytics engineer", 9),
    PersonRow("ingrid.solheim", "AnalyticsEngineering", "Analytics engineer", 5),
    PersonRow("kwame.boateng", "DataEngineering", "Lead data engineer", 9),
    PersonRow("lucia.marchetti", "DataEngineering", "Data engineer", 7),
    PersonRow("arjun.nair", "DataEngineering", "Data engineer", 4),
    PersonRow("helen.ostrowska", "DataPlatform", "Head of data"),
    PersonRow("miriam.adler", "DataGovernance", "Data protection officer", 8),
    PersonRow("jonas.lindqvist", "DataGovernance", "Data steward", 10),
    PersonRow("priya.raman", "ShopEngineering", "Lead engineer, checkout", 3),
    PersonRow("owen.gallagher", "ShopEngineering", "Engineer, catalogue", 2),
    PersonRow("chloe.dubois", "ShopEngineering", "Engineer, accounts", 2),
    PersonRow("mateusz.zielinski", "ShopEngineering", "Engineer, checkout", 2),
    PersonRow("rosa.delgado", "Technology", "Chief technology officer"),
    PersonRow("felix.brandt", "Merchandising", "Head of buying"),
    PersonRow("aiko.tanaka", "Merchandising", "Pricing analyst", 2),
    PersonRow("sophie.lambert", "Marketing", "Head of marketing"),
    PersonRow("daniel.okafor", "Marketing", "Campaign analyst", 3),
    PersonRow("nora.haddad", "Marketing", "Newsletter editor"),
    PersonRow("ben.carmichael", "CustomerCare", "Head of customer care"),
    PersonRow("elena.petrova", "CustomerCare", "Care analyst"),
    PersonRow("grace.mbeki", "Finance", "Financial controller", 2),
    PersonRow("anton.keller", "Finance", "Payments analyst", 3),
    PersonRow("yusuf.demir", "Logistics", "Head of logistics"),
    PersonRow("hannah.brooks", "Logistics", "Stock analyst", 2),
    PersonRow("victor.lindgren", "Fernhill", "Managing director"),
)

BOTS = (
    ("ingestion-bot", "Reads the databases every night and catalogues what it finds."),
    ("airflow-bot", "Reports every run of a pipeline."),
    ("quality-bot", "Runs the tests and reports their results."),
)

DOMAINS = (
    DomainRow("Sales", "Source-aligned", "ShopEngineering", "Carts, orders and payments."),
    DomainRow("Customers", "Source-aligned", "ShopEngineering", "Customers and their consents."),
    DomainRow("Products", "Source-aligned", "Merchandising", "Products and prices."),
    DomainRow("Finance", "Source-aligned", "Finance", "Invoices, payments, taxes."),
    DomainRow("Logistics", "Source-aligned", "Logistics", "Stock, parcels, returns."),
    DomainRow("Care", "Source-aligned", "CustomerCare", "Tickets, calls and satisfaction."),
    DomainRow("Marketing", "Source-aligned", "Marketing", "Campaigns, newsletters, advertising."),
    DomainRow("Reporting", "Consumer-aligned", "AnalyticsEngineering", "Key figures of the company."),
)

CLASSIFICATIONS = (
    (
        "Quality",
        "Whether the data was reviewed recently.",
        (("Certified", "Reviewed and approved."), ("NeedsReview", "Needs a review.")),
    ),
    (
        "Retention",
        "Retention period.",
        (("TwoYears", "Deleted after two years."), ("TenYears", "Kept for ten years, as tax law requires.")),
    ),
    ("Lifecycle", "Lifecycle state.", (("Deprecated", "Will be removed; do not use it."),)),
)
"""Name, meaning and tags of this company's classifications besides the standard ones."""
