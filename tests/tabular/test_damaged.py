"""Two hundred damaged tables: each is refused in one clear line, or rows that are whole are predicted as before."""

import csv
from io import StringIO

import numpy as np
import pytest

from tests.tabular.test_commands import one_line, run

WHOLE = ["size", "weight", "colour"]


def cells(text):
    return list(csv.reader(StringIO(text)))


def rejoined(rows):
    out = StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def missing_column(rng, text):
    rows = cells(text)
    place = rows[0].index(rng.choice(WHOLE))
    return rejoined([row[:place] + row[place + 1 :] for row in rows])


def renamed_column(rng, text):
    name = rng.choice(WHOLE)
    return text.replace(name, f"{name}s", 1)


def repeated_column(rng, text):
    rows = cells(text)
    place = rows[0].index(rng.choice(WHOLE))
    return rejoined([[*row, row[place]] for row in rows])


def no_header(rng, text):
    return text.split("\n", 1)[1]


def text_for_number(rng, text):
    rows = cells(text)
    row, place = rng.integers(1, len(rows)), rows[0].index(rng.choice(["size", "weight"]))
    rows[row][place] = rng.choice(["big", "1,5", "12..5", "1 000", "5,1e", "#REF!", "0x1F", "1e999", "-inf", "５"])
    return rejoined(rows)


def cell_too_few(rng, text):
    lines = text.splitlines()
    row = rng.integers(1, len(lines))
    lines[row] = lines[row].rsplit(",", rng.integers(1, 3))[0]
    return "\n".join(lines) + "\n"


def cell_too_many(rng, text):
    lines = text.splitlines()
    lines[rng.integers(1, len(lines))] += ",7" * rng.integers(1, 4)
    return "\n".join(lines) + "\n"


def two_lines_in_one(rng, text):
    lines = text.splitlines()
    row = rng.integers(1, len(lines) - 1)
    lines[row : row + 2] = [lines[row] + lines[row + 1]]
    return "\n".join(lines) + "\n"


def open_quote(rng, text):
    lines = text.splitlines()
    row = rng.integers(1, len(lines))
    lines[row] = '"' + lines[row]
    return "\n".join(lines) + "\n"


def cut_in_a_line(rng, text):
    lines = text.splitlines(keepends=True)
    last = lines[-1]
    return "".join(lines[:-1]) + last[: rng.integers(1, last.rindex(",", 0, last.rindex(",")))]


def binary(rng, text):
    noise = rng.integers(0, 256, 300, dtype=np.uint8).tobytes()
    return (b"\x00\xff" + noise) if rng.random() < 0.5 else text[: rng.integers(50, 400)].encode() + b"\xfe\xff" + noise


def control_character(rng, text):
    place = rng.integers(0, len(text))
    return text[:place] + chr(rng.choice([0, 1, 7, 8, 27, 127])) + text[place:]


def other_delimiter(rng, text):
    """Only in the rows below the header."""
    head, rest = text.split("\n", 1)
    return head + "\n" + rest.replace(",", rng.choice([";", "\t", "|"]))


def empty(rng, text):
    return rng.choice(["", "\n", " \n \n", text.split("\n", 1)[0] + "\n", "\ufeff"])


REFUSED = [
    missing_column,
    renamed_column,
    repeated_column,
    no_header,
    text_for_number,
    cell_too_few,
    cell_too_many,
    two_lines_in_one,
    open_quote,
    cut_in_a_line,
    binary,
    control_character,
    other_delimiter,
    empty,
]


def flipped_bytes(rng, text):
    raw = bytearray(text.encode())
    for place in rng.integers(0, len(raw), rng.integers(1, 4)):
        raw[place] ^= 1 << rng.integers(0, 8)
    return bytes(raw)


def lost_piece(rng, text):
    start = rng.integers(0, len(text) - 1)
    return text[:start] + text[start + rng.integers(1, 60) :]


def cut_between_lines(rng, text):
    lines = text.splitlines(keepends=True)
    return "".join(lines[: rng.integers(2, len(lines))])


def columns_in_another_order(rng, text):
    rows = cells(text)
    order = rng.permutation(len(rows[0]))
    return rejoined([[row[i] for i in order] for row in rows])


def lines_in_another_order(rng, text):
    head, *rest = text.splitlines(keepends=True)
    return head + "".join(rest[i] for i in rng.permutation(len(rest)))


def blank_lines(rng, text):
    lines = text.splitlines(keepends=True)
    lines.insert(rng.integers(0, len(lines)), "\n")
    return "".join(lines)


HARMLESS_OR_NOT = [
    flipped_bytes,
    lost_piece,
    cut_between_lines,
    columns_in_another_order,
    lines_in_another_order,
    blank_lines,
]
CASES = [(damage, seed) for seed in range(10) for damage in REFUSED + HARMLESS_OR_NOT]


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def predictions(stdout):
    """By what tells rows apart and is predicted from: their name and their cells."""
    return {row["plant"]: {k: v for k, v in row.items() if k != "line"} for row in csv.DictReader(StringIO(stdout))}


def test_there_are_two_hundred():
    assert len(CASES) == 200


@pytest.mark.parametrize("damage", REFUSED, ids=lambda damage: damage.__name__)
def test_damage_that_can_be_seen_is_refused(damage, table_file, model_file, tmp_path):
    text = table_file.read_text()
    for seed in range(10):
        path = write(tmp_path / "new.csv", damage(np.random.default_rng(seed), text))
        line = one_line(run("predict", model_file, path, "--out", tmp_path / "p.csv"))
        assert str(path) in line
        assert not (tmp_path / "p.csv").exists()


@pytest.mark.parametrize("damage", HARMLESS_OR_NOT, ids=lambda damage: damage.__name__)
def test_rows_that_are_whole_are_predicted_as_before(damage, table_file, model_file, tmp_path):
    text = table_file.read_text()
    clean = predictions(run("predict", model_file, table_file).stdout)
    before = {row["plant"]: [row[name] for name in WHOLE] for row in csv.DictReader(StringIO(text))}
    n_compared = 0
    for seed in range(10):
        content = damage(np.random.default_rng(seed), text)
        path = write(tmp_path / "new.csv", content)
        ran = run("predict", model_file, path)
        if ran.exit_code:
            one_line(ran)
            continue
        now = csv.DictReader(StringIO(content.decode() if isinstance(content, bytes) else content))
        same = {row.get("plant") for row in now if before.get(row.get("plant")) == [row.get(name) for name in WHOLE]}
        found = predictions(ran.stdout)
        n_compared += len(same)
        assert {name: found[name] for name in same} == {name: clean[name] for name in same}
    assert n_compared > 0


@pytest.mark.parametrize(
    "damage",
    [text_for_number, cell_too_few, cell_too_many, open_quote, binary, control_character, empty, no_header],
    ids=lambda damage: damage.__name__,
)
def test_nothing_is_learned_from_damage(damage, table_file, tmp_path):
    text = table_file.read_text()
    for seed in range(5):
        path = write(tmp_path / "data.csv", damage(np.random.default_rng(seed), text))
        one_line(run("fit", path, "--target", "species", "--save", tmp_path / "m.gpclass"))
        assert not (tmp_path / "m.gpclass").exists()
