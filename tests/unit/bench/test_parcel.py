"""The packages that are measured are what the figures say of them."""

from bench.packages import parcel
from stateward.packages.format.reading import read_package
from stateward.packages.rendering.rendering import Use
from stateward.packages.rendering.step_objects import render_plan
from stateward.packages.restarts.dependencies import dependencies
from stateward.packages.review.checks import check_package


def test_the_package_makes_ten_objects_and_its_workload_uses_one_of_nobodys_package() -> None:
    package = read_package(parcel.files())
    assert check_package(package) == []
    found = [rendered.body for rendered in render_plan(Use(package, parcel.name(7), "default"), "deploy")]
    assert len(found) == parcel.OBJECTS
    (workload,) = (body for body in found if body["kind"] == "Deployment")
    used = {dependency.name for dependency in dependencies(workload)}
    assert used == {"p-0007-0", parcel.outside(7, "1")["metadata"]["name"]}


def test_the_wide_package_has_the_reported_number_of_parameters() -> None:
    package = parcel.wide(250)
    assert len(package.parameters) == 250
    (rendered,) = render_plan(Use(package, "all", "default"), "deploy")
    assert rendered.body["data"]["parameter_249"] == "249"
