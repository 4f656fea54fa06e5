"""The names that a user of the package sees."""

import subprocess
import sys
from types import ModuleType

import pytest

import edgewright


@pytest.mark.parametrize("name", edgewright.__all__)
def test_a_public_name_is_what_it_says_and_explains_itself(name):
    value = getattr(edgewright, name)
    # A module only where it was made for users.
    assert not isinstance(value, ModuleType) or value.__name__.startswith("edgewright.api.")
    assert value.__name__.rpartition(".")[2] == name
    assert value.__doc__


def test_packages_of_the_same_name_do_not_hide_functions():
    program = """
import edgewright.build.records, edgewright.quantize.encodings
from edgewright import *
print(quantize, build)
"""
    command = [sys.executable, "-c", program]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.startswith("<function quantize at")
    assert "<function build at" in printed


def test_a_listing_of_the_package_shows_the_public_names_only():
    assert dir(edgewright) == sorted(edgewright.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'convret'"):
        _ = edgewright.convret
