"""Which packages a wheel has: the code, and the folders beside it that an installed dcctl needs as well.

Everything else is declared in pyproject.toml, which cannot add to the packages that it finds.
"""

from setuptools import find_packages, setup

BESIDE = ("playbooks", "topologies")

setup(
    packages=[*find_packages(include=["orchestrator*"]), *(f"orchestrator.{name}" for name in BESIDE)],
    package_dir={f"orchestrator.{name}": name for name in BESIDE},
)
