"""Projections of StatefulSets, Deployments and disruption budgets."""

from msgspec import field

from stateward.kube.objects.metadata import ObjectMeta, WireRecord
from stateward.kube.objects.pods import Condition, Container, Volume


class TemplateMeta(WireRecord):
    """The metadata of pods from a template."""

    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


class TemplateSpec(WireRecord):
    """The containers and volumes of a template."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()


class PodTemplate(WireRecord):
    """The template for new pods."""

    metadata: TemplateMeta = TemplateMeta()
    spec: TemplateSpec = TemplateSpec()


class StatefulSetSpec(WireRecord):
    """The spec of a StatefulSet."""

    replicas: int = 1
    template: PodTemplate = PodTemplate()


class StatefulSetStatus(WireRecord):
    """The status from the StatefulSet controller; it is outdated while `observed_generation` is older than the spec."""

    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""


class StatefulSet(WireRecord):
    """A StatefulSet."""

    metadata: ObjectMeta = ObjectMeta()
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()

    @property
    def observed(self) -> bool:
        """Whether the status belongs to the present spec and not to an earlier one."""
        return self.status.observed_generation >= self.metadata.generation


class DeploymentSpec(WireRecord):
    """The spec of a Deployment."""

    replicas: int = 1
    template: PodTemplate = PodTemplate()


class DeploymentStatus(WireRecord):
    """The status from the Deployment controller; it is outdated while `observed_generation` is older than the spec."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0


class Deployment(WireRecord):
    """A Deployment."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()

    @property
    def observed(self) -> bool:
        """Whether the status belongs to the present spec and not to an earlier one."""
        return self.status.observed_generation >= self.metadata.generation


class BudgetSpec(WireRecord):
    """The limit of disrupted or minimum of available pods: counts or percentages, as written."""

    max_unavailable: int | str | None = None
    min_available: int | str | None = None


class BudgetStatus(WireRecord):
    """The disruptions that the budget allows now."""

    observed_generation: int = 0
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(WireRecord):
    """A disruption budget."""

    metadata: ObjectMeta = ObjectMeta()
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()
