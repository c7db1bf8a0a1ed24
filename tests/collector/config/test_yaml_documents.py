"""YAML with line numbers: every error has its line and a fix."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from collector.config.yaml_documents import load_yaml, rule_paths
from collector.errors import ConfigError


def write(folder: Path, text: str) -> Path:
    path = folder / "file.yaml"
    path.write_text(text)
    return path


def test_data_and_the_line_of_every_path(tmp_path: Path) -> None:
    document = load_yaml(write(tmp_path, "a: 1\nb:\n  - x\n  - {c: 2}\n"))
    assert document.data == {"a": 1, "b": ["x", {"c": 2}]}
    assert document.place(("b", 1, "c")).endswith("file.yaml:4")
    assert document.place(("b", 1, "missing", "deeper")).endswith("file.yaml:4")


def test_an_empty_file_is_an_empty_mapping(tmp_path: Path) -> None:
    assert load_yaml(write(tmp_path, "# nothing\n")).data == {}


def test_environment_variables(tmp_path: Path) -> None:
    path = write(tmp_path, "token: Bearer ${env:TOKEN}\nport: ${env:PORT:-4317}\n")
    assert load_yaml(path, {"TOKEN": "s3"}).data == {"token": "Bearer s3", "port": "4317"}
    rules = load_yaml(path)
    assert rules.data["token"] == "Bearer ${env:TOKEN}"
    assert rules.unreplaced == {("token",): "Bearer ${env:TOKEN}", ("port",): "${env:PORT:-4317}"}
    with pytest.raises(ConfigError, match=r"file.yaml:1: environment variable TOKEN is not set"):
        load_yaml(path, {})


@pytest.mark.parametrize("text", ["${TOKEN}", "${file:token}", "${env:9}", "${env:A", "${}b"])
def test_what_looks_like_a_variable_and_is_none_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"file.yaml:1: only \$\{env:NAME\} and .{1,90} \$\$\{"):
        load_yaml(write(tmp_path, f"a: '{text}'\n"), {"A": "x"})
    assert load_yaml(write(tmp_path, f"a: '${text} $$5'\n"), {"A": "x"}).data == {"a": f"{text} $$5"}


def test_what_a_variable_holds_is_not_replaced_again(tmp_path: Path) -> None:
    path = write(tmp_path, "a: ${env:A}\n")
    assert load_yaml(path, {"A": "${env:B} $${"}).data == {"a": "${env:B} $${"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: {b: ${env:HOME}, c: 1}",
            r'comma between its entries; put a variable among braces in quotes: "\$\{env:NAME\}"',
        ),
        ("a: [1", "file.yaml:2: not YAML|file.yaml:1: not YAML"),
        ("a: 1\na: 2\n", "file.yaml:2: a: duplicate key"),
        ("a: 1\nx: !!python/name:os.system\n", "file.yaml:2: not YAML: could not determine a constructor"),
        ("[" * 5000, "nested too deeply|not YAML"),
        (
            "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
            + "".join(
                f"{b}: &{b} [*{a},*{a},*{a},*{a},*{a},*{a},*{a},*{a},*{a}]\n"
                for a, b in zip("abcdefgh", "bcdefghi", strict=True)
            ),
            "more than",
        ),
    ],
    ids=["variable", "syntax", "duplicate key", "object", "deep", "alias bomb"],
)
def test_invalid_files_are_refused_with_the_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_yaml(write(tmp_path, text))


@pytest.mark.parametrize(
    "scalar",
    ["0x_", "!!int ''", "!!bool foo", "!!float x", ".inf", "-.inf", ".nan", "1.0e+400",
     "9" * 5000, "0x" + "f" * 5000, "0b" + "1" * 9000, "1:" * 3000 + "1", "1:" * 500 + "1.5"],
    ids=lambda scalar: scalar[:20],
)  # fmt: skip
def test_what_looks_like_a_number_and_is_none_is_refused_with_the_line(tmp_path: Path, scalar: str) -> None:
    with pytest.raises(ConfigError, match=r"file.yaml:2: .{1,70} is no number that can be read; put a text in quotes"):
        load_yaml(write(tmp_path, f"a:\n- {scalar}\n"))


@pytest.mark.parametrize("date", ["2024-01-01", "2001-01-01T09:00:00Z", "0000-00-00", "!!timestamp x"])
def test_a_date_is_the_text_that_was_written(tmp_path: Path, date: str) -> None:
    assert load_yaml(write(tmp_path, f"day: {date}\n")).data == {"day": date.removeprefix("!!timestamp ")}


MISREAD = {
    "no": False, "01234": 668, "-010": -8, "0x1F": 31, "0b11": 3, "12:30": 750, "1:30.5": 90.5, "1_000": 1000, "1_0.5": 10.5,
    "01.5": 1.5, "1e3": "1e3", "1.5e3": "1.5e3", "2E-4": "2E-4",
}  # fmt: skip


def test_what_yaml_hardly_reads_as_it_is_meant_is_known_by_its_place(tmp_path: Path) -> None:
    document = load_yaml(write(tmp_path, "".join(f"- {written}\n" for written in MISREAD)))
    assert document.data == list(MISREAD.values())
    assert document.misread == {(at,): item for at, item in enumerate(MISREAD.items())}


@pytest.mark.parametrize(
    "scalar",
    ["10", "-3", "+5", "0", "1.5", "0.10", "1.10", ".5", "1.0e+3", "true", "~", "08", "e3", "0o17", "a_1",
     "'01234'", '"1e3"', "'no'", "'12:30'", "2024-01-01"],
)  # fmt: skip
def test_plain_numbers_and_texts_in_quotes_are_meant(tmp_path: Path, scalar: str) -> None:
    assert load_yaml(write(tmp_path, f"- {scalar}\n")).misread == {}


def test_a_missing_or_unreadable_file_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load_yaml(tmp_path / "none.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"binary.yaml"):
        load_yaml(tmp_path / "binary.yaml")


def test_a_configuration_may_come_from_a_pipe_and_rules_may_not(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit((tmp_path / "pipe").write_text, "a: 1")
        assert load_yaml(tmp_path / "pipe", {}).data == {"a": 1}
        writing.result()
    with pytest.raises(ConfigError, match="cannot be read: not a regular file"):
        load_yaml(tmp_path / "pipe")


def test_rule_paths_are_files_and_those_in_folders(tmp_path: Path) -> None:
    (tmp_path / "rules" / "more").mkdir(parents=True)
    names = ["rules/b.yaml", "rules/a.yml", "rules/more/c.yaml", "rules/README.md"]
    for name in names:
        (tmp_path / name).write_text("")
    found = rule_paths([tmp_path / "rules", tmp_path / "rules/README.md"])
    assert [str(path.relative_to(tmp_path)) for path in found] == [
        "rules/a.yml",
        "rules/b.yaml",
        "rules/more/c.yaml",
        "rules/README.md",
    ]
    with pytest.raises(ConfigError, match="no such rule file or folder"):
        rule_paths([tmp_path / "none"])


@pytest.mark.parametrize(("name", "levels"), [("a", 2100), ("a" * 200, 30)], ids=["many", "long"])
def test_folders_that_are_nested_too_deeply_are_refused(tmp_path: Path, name: str, levels: int) -> None:
    at = os.open(tmp_path, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=at)
        below = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    try:
        with pytest.raises(ConfigError, match="cannot be read: File name too long"):
            rule_paths([tmp_path])
    finally:
        subprocess.run(["rm", "-rf", tmp_path / name], check=True)  # pytest could not


def test_a_mounted_config_map_and_a_file_named_twice_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "..2026_11_21").mkdir()
    (tmp_path / "..2026_11_21" / "a.yaml").write_text("")
    (tmp_path / "..data").symlink_to("..2026_11_21")
    (tmp_path / "a.yaml").symlink_to("..data/a.yaml")
    assert rule_paths([tmp_path, tmp_path / "a.yaml"]) == [tmp_path / "a.yaml"]


def test_folders_of_a_mounted_volume_are_links_and_read(tmp_path: Path) -> None:
    (tmp_path / "..2026_11_21" / "team-a").mkdir(parents=True)
    (tmp_path / "..2026_11_21" / "team-a" / "a.yaml").write_text("")
    (tmp_path / "..data").symlink_to("..2026_11_21")
    (tmp_path / "team-a").symlink_to("..data/team-a")
    (tmp_path / "again").symlink_to(".")
    assert rule_paths([tmp_path]) == [tmp_path / "team-a" / "a.yaml"]


def test_a_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"file.yaml: cannot be read: larger than 4 MiB"):
        load_yaml(write(tmp_path, "# " + "x" * (4 << 20)))


def test_characters_that_json_writes_as_pairs_are_read(tmp_path: Path) -> None:
    assert load_yaml(write(tmp_path, r'{"\ud83d\ude00": "\ud83d\ude00"}')).data == {"😀": "😀"}


@pytest.mark.parametrize("text", [r'a: 1{}b: "x\ud800"', r'a: 1{}"\udfff": 1', "a: 1{}b: ${{env:BROKEN}}"])
def test_half_a_character_is_refused_with_the_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"file\.yaml:2: not valid Unicode"):
        load_yaml(write(tmp_path, text.format("\n")), {"BROKEN": "\udcff"})  # as Python reads a byte that is no UTF-8
