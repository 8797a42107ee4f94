"""An OpenSearch or Elasticsearch on the workers of an OpenShift, and a watch over its members."""

from __future__ import annotations

from tests.lab.opensearch.layouts import OPENSEARCH, Product
from tests.runs.random_runs.openshift.watch import Watch, names_of
from tests.runs.random_runs.resident import VERSION, Resident
from tests.runs.world import World
from tests.sandbox.openshift.openshift import OpenShift


class Database(Resident):
    """It notes whenever a worker is taken although a member on it cannot be spared."""

    def __init__(
        self, here: World, openshift: OpenShift, version: str = VERSION, product: Product = OPENSEARCH
    ) -> None:
        super().__init__(here, openshift.resources, names_of(openshift, masters=True), version, product)
        Watch(openshift, self.spares, self.breaches)
