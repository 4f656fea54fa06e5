"""Addresses of devices, and what they refuse."""

import pytest

from edgewright.core.errors import UsageError
from edgewright.run.remote.address import choose_device, name_adb_device, parse_address


def test_an_address_has_its_parts():
    address = parse_address("ssh://me@board.local:2222?tools=/opt/qnn&folder=/var/tmp&limit=5&config=c")
    assert (address.user, address.host, address.port) == ("me", "board.local", 2222)
    assert (address.tools, address.folder, address.limit) == ("/opt/qnn", "/var/tmp", 5.0)
    assert address.config == "c"
    assert str(address) == "ssh://me@board.local:2222"
    assert parse_address("ssh://[fe80::1]:22").host == "fe80::1"
    assert parse_address("ssh://[fe80::1]").port is None
    assert parse_address("adb://192.168.0.9:5555?server=build:5037").server == "build:5037"
    assert parse_address("adb://").host == ""


@pytest.mark.parametrize(
    "text",
    [
        "board",
        "http://board",
        "ssh://",
        "ssh://-oProxyCommand=touch%20x",
        "ssh://-l@board",
        "ssh://me@bo;ard",
        "ssh://me@board:0",
        "ssh://me@board:x",
        "ssh://me@board:99999",
        f"ssh://me@board:{'1' * 5000}",
        "ssh://board?tools=relative",
        "ssh://board?folder=",
        "ssh://board?limit=0",
        "ssh://board?limit=nan",
        "ssh://board?unknown=1",
        "ssh://board?server=x",
        "ssh://board?tools=/a%0Ab",
        "adb://-s",
        "adb://a b",
        "adb://x?config=c",
    ],
)
def test_what_is_no_address_is_refused(text):
    with pytest.raises(UsageError):
        parse_address(text)


def test_words_of_the_sdk_are_addresses():
    assert name_adb_device("f366ce60") == "adb://f366ce60"
    assert name_adb_device(None, "build", "/data/x") == "adb://?server=build&folder=/data/x"
    assert name_adb_device("ssh://board", "build") == "ssh://board"
    assert choose_device("aarch64-android", None) == "adb://"
    assert choose_device("aarch64-android", "12") == "adb://12"
    assert choose_device("x86_64-linux-clang", "12") is None
    assert choose_device("x86_64-linux-clang", "ssh://board") == "ssh://board"


def test_a_value_stays_one_setting():
    address = parse_address(name_adb_device("12", None, "/data/a&server=evil b+c%"))
    assert (address.server, address.folder) == ("", "/data/a&server=evil b+c%")


@pytest.mark.parametrize(
    "text",
    [
        "ssh://me:secret@board",
        "ssh://me:secret@board?x=1",
        "scp://me:x@secret@board",
        "ssh://me:x/secret@board",
    ],
)
def test_a_password_is_not_shown(text):
    with pytest.raises(UsageError) as problem:
        parse_address(text)
    assert "secret" not in str(problem.value)
