# SPDX-License-Identifier: Apache-2.0
import importlib
import os

import numpy as np
import pytest

# No file of the user's is read or written: an empty variable would count as none.
if not os.environ.get("GGEMM_CACHE_DIR"):
    os.environ["GGEMM_CACHE_DIR"] = "/dev/null/none"


def pytest_collection_modifyitems(config, items):
    """$GGEMM_TEST_SHARD, "i/n": of the tests in turn, only those of the i-th of n processes, from 0."""
    number, _, count = os.environ.get("GGEMM_TEST_SHARD", "0/1").partition("/")
    mine = items[int(number)::int(count)]
    config.hook.pytest_deselected(items=[item for item in items if item not in mine])
    items[:] = mine


def need(module, install):
    """The module, or a skip that says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError:
        pytest.skip(f"needs {module}: pip install {install}")


@pytest.fixture
def rng():
    return np.random.default_rng(20240131)


@pytest.fixture(scope="session")
def torch():
    return need("torch", "torch")


@pytest.fixture(scope="session")
def jax():
    return need("jax", "jax")
