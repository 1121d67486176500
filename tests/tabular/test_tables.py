"""Tables from files: what is read, and what is refused with the line it is on."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pytest

from gpclass.tabular import TableError, from_frame, read_table
from gpclass.tabular.columns import numeric_values


def written(folder, text, name="t.csv", encoding="utf-8"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiters_and_line_ends(tmp_path, mark, end):
    text = end.join([f"a{mark}b", f"1{mark}x", f'2{mark}"y{mark} z"', ""])
    table = read_table(written(tmp_path, text))
    assert table.columns == {"a": ["1", "2"], "b": ["x", f"y{mark} z"]}
    assert table.positions == [2, 3]
    assert table.notes == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_that_mark_themselves(tmp_path, encoding):
    assert read_table(written(tmp_path, "größe\n1\n", encoding=encoding)).columns == {"größe": ["1"]}


def test_other_encodings_are_named(tmp_path):
    path = written(tmp_path, "größe\n1\n", encoding="cp1252")
    with pytest.raises(TableError, match=r"line 1: expected utf-8 text.*--encoding"):
        read_table(path)
    assert list(read_table(path, "cp1252").columns) == ["größe"]
    with pytest.raises(TableError, match="a text encoding such as"):
        read_table(path, "klingon")


def test_cells_that_are_missing(tmp_path):
    table = read_table(written(tmp_path, "a,b\n,x\nNA,y\n nan ,\n?,N/A\n"))
    assert table.columns == {"a": [None] * 4, "b": ["x", "y", None, None]}


def test_dashes_are_kept_as_text(tmp_path):
    table = read_table(written(tmp_path, "a,b\n-,+\n2,-\n--,<NA>\nnull,x\n"))
    assert table.columns == {"a": ["-", "2", "--", None], "b": ["+", "-", None, "x"]}
    np.testing.assert_array_equal(numeric_values(table, "a"), [np.nan, 2.0, np.nan, np.nan])
    assert from_frame(pd.DataFrame({"b": ["+", "-", pd.NA, "x"]})).columns["b"] == table.columns["b"]
    assert list(read_table(written(tmp_path, "a,b,\n1,x,-\n2,y,-\n")).columns) == ["a", "b"]
    with pytest.raises(TableError, match="expected column names, got numbers"):
        read_table(written(tmp_path, "1,-\n3,4\n"))


def test_a_decimal_comma_where_semicolons_divide(tmp_path):
    table = read_table(written(tmp_path, "a;b\n1,5;x\n"))
    assert table.parse("1,5") == 1.5
    assert read_table(written(tmp_path, 'a,b\n"1,5",x\n')).parse("1,5") is None


@pytest.mark.parametrize("cell", ["1_000", "１２", "0x10", "1e", "--1", "1.2.3", "inf", "1 2", ""])
def test_what_is_no_number(tmp_path, cell):
    assert read_table(written(tmp_path, "a\n1\n")).parse(cell) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n\n  \n", "is empty"),
        ("a,b\n", "expected rows below the column names, got none"),
        ("a,b\n1,2\n3\n", "line 3: expected 2 cells, as the first line has, got 1"),
        ("a,b\n1,2\n3,4,5\n", "line 3: expected 2 cells, as the first line has, got 3"),
        ("a,a\n1,2\n", "'a' more than once"),
        ("1,2\n3,4\n", "line 1: expected column names, got numbers"),
        ("a,,b\n1,2,3\n", "expected a name for every column, got none for 2"),
        ('a,b\n1,"2\n3,4\n', "line 2: .* a quote that is not closed"),
        ('a,b\n1,"2"x\n', "line 2"),
        ("a,b\n1,\x00\n", "line 2: expected text, got the control character"),
        (b"a,b\n1,\xff\xfe\n", "line 2: expected utf-8 text"),
        (b"PAR1 but no more", "Parquet"),
        (b"PK\x03\x04 and so on", "is an Excel or zip file"),
        (b"gpclass model\n{}", "is a model of gpclass"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "is a compressed file"),
        ("price;y\n900;a\n950;b\n1,050;c\n", "'1,050' may be 1050 or 1.050"),
        ("a;b\n1,5;x\n2.5;y\n", "one decimal mark in the whole file, got '1,5' and '2.5'"),
        ("a;b\n1,5;2.25\n", "one decimal mark"),
        ("Temp, C;Druck, hPa\n12,4;1002,9\n13,1;999,5\n", "both ',' and ';' are possible"),
    ],
)
def test_damage_is_reported_with_its_line(tmp_path, text, message):
    with pytest.raises(TableError, match=message) as caught:
        read_table(written(tmp_path, text))
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "t.csv") in str(caught.value)


def test_lines_are_counted_past_cells_of_several_lines(tmp_path):
    with pytest.raises(TableError, match="line 4: expected 2 cells"):
        read_table(written(tmp_path, 'a,b\n1,"x\ny"\n2\n'))


def test_no_file_and_folders(tmp_path):
    with pytest.raises(TableError, match="File not found"):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)


def test_row_names_without_a_name_and_empty_columns(tmp_path):
    table = read_table(written(tmp_path, ",a,b\n0,1,x\n1,2,y\n"))
    assert list(table.columns) == ["a", "b"]
    assert "row names" in table.notes[0]
    assert list(read_table(written(tmp_path, "a,b,\n1,x,\n2,y,\n")).columns) == ["a", "b"]


def test_a_last_line_without_line_end_is_reported(tmp_path):
    assert "truncated" in read_table(written(tmp_path, "a,b\n1,2\n3,4")).notes[0]


def test_parquet_and_frames_are_as_csv(frame, table_file, tmp_path):
    frame.to_parquet(tmp_path / "t.parquet")
    parquet, text = read_table(tmp_path / "t.parquet"), read_table(table_file)
    assert parquet.unit == "row"
    assert list(parquet.columns) == list(text.columns)
    for name in ("plant", "colour", "species"):
        assert parquet.columns[name] == text.columns[name]
    weights = [numeric_values(table, "weight") for table in (parquet, text)]
    np.testing.assert_array_equal(*weights)
    with pytest.raises(TableError, match="more than once"):
        from_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(TableError, match="got 0 rows"):
        from_frame(frame.iloc[:0])


def test_names_may_hold_the_other_mark(tmp_path):
    table = read_table(written(tmp_path, '"a, b";c\n1,5;x\n2,5;y\n'))
    assert table.columns == {"a, b": ["1,5", "2,5"], "c": ["x", "y"]}
    assert list(read_table(written(tmp_path, "a, in mm;b;c\n1;2;3\n4;5;6\n")).columns) == ["a, in mm", "b", "c"]


def test_lines_end_where_files_say_and_marks_are_no_names(tmp_path):
    assert read_table(written(tmp_path, "a,b\n1,x\u2028y\n")).columns["b"] == ["x\u2028y"]
    assert list(read_table(written(tmp_path, "\ufeffa,b\n1,2\n"), "utf-8").columns) == ["a", "b"]


def test_a_name_that_was_meant_is_named(tmp_path):
    table = read_table(written(tmp_path, "Glucose Level,b\n1,2\n"))
    for name in ("glucose level", "glucose", "Glucose Levle"):
        with pytest.raises(TableError, match="did you mean 'Glucose Level'"):
            table.column(name)


def test_frames_of_others_and_what_is_none(frame):
    assert from_frame(pl.from_pandas(frame)).columns == from_frame(frame).columns
    assert from_frame(pd.DataFrame({"site": [1.0, 2.0, None]})).columns["site"] == ["1", "2", None]
    with pytest.raises(TableError, match="expected a data frame with column names, got ndarray"):
        from_frame(frame.to_numpy())


def test_names_in_quotes_may_have_several_lines(tmp_path):
    table = read_table(written(tmp_path, '"a\n, in mm";"b, c"\n1;2\n3;4\n'))
    assert table.columns == {"a\n, in mm": ["1", "3"], "b, c": ["2", "4"]}
    assert list(read_table(written(tmp_path, '5" pipe;b\n1;"x;y"\n')).columns) == ['5" pipe', "b"]


def test_a_cell_may_be_long(tmp_path):
    assert read_table(written(tmp_path, f"a,b\n1,{'x' * 200_000}\n")).columns["b"] == ["x" * 200_000]
