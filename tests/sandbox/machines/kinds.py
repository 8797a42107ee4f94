"""The kinds of Cluster API, in each version of its API, and objects of them."""

from __future__ import annotations

from dataclasses import dataclass

from tests.sandbox.kubernetes.objects import Json, Kind

GROUP = "cluster.x-k8s.io"
DEPLOYMENT_NAME = f"{GROUP}/deployment-name"
DELETE_FIRST = f"{GROUP}/delete-machine"
FINALIZER = "machine.cluster.x-k8s.io"


@dataclass(frozen=True)
class Version:
    """One version of the API: its kinds, and the fields that have another name in others."""

    name: str

    @property
    def deployments(self) -> Kind:
        """MachineDeployments."""
        return self._kind("machinedeployments", "MachineDeployment")

    @property
    def machines(self) -> Kind:
        """Machines."""
        return self._kind("machines", "Machine")

    def _kind(self, plural: str, kind: str) -> Kind:
        scale = kind == "MachineDeployment"
        return Kind(GROUP, self.name, plural, kind, status=True, scale=scale, generations=True, custom=True)

    @property
    def up_to_date(self) -> str:
        """The field of a MachineDeployment's status with the machines that are as its template says."""
        return "upToDateReplicas" if self.name == "v1beta2" else "updatedReplicas"

    def machine_spec(self, cluster: str) -> Json:
        """The spec of a machine."""
        reference = {"kind": "SandboxMachine", "name": "machine"}
        if self.name == "v1beta2":
            reference["apiGroup"] = "infrastructure.cluster.x-k8s.io"
        else:
            reference["apiVersion"] = f"infrastructure.cluster.x-k8s.io/{self.name}"
        bootstrap = {"dataSecretName": "bootstrap"}
        return {"clusterName": cluster, "bootstrap": bootstrap, "infrastructureRef": reference}

    def condition(self, ready: bool, message: str, now: str) -> Json:
        """The condition Ready of a machine."""
        status = "True" if ready else "False"
        reason = "Ready" if ready else "NotReady"
        return {"type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": now}

    def deployment(self, cluster: str, name: str, replicas: int) -> Json:
        """A MachineDeployment as a user makes it."""
        labels = {f"{GROUP}/cluster-name": cluster, DEPLOYMENT_NAME: name}
        template = {"metadata": {"labels": labels}, "spec": self.machine_spec(cluster)}
        selector = {"matchLabels": labels}
        spec = {"clusterName": cluster, "replicas": replicas, "selector": selector, "template": template}
        return {"metadata": {"name": name}, "spec": spec}
