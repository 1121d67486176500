"""Where commands write: files, links and devices as they are, and standard output that no one reads."""

import os
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pandas as pd
import pytest

import gpclass
from gpclass.cli import _console
from gpclass.cli.app import app
from gpclass.io.files import write_whole
from tests.tabular.test_commands import one_line, run


def process(words, redirect):
    """A command in a shell, with its standard output redirected."""
    line = " ".join([sys.executable, "-m", "gpclass.cli", *[f"'{word}'" for word in words]])
    settings = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{line} {redirect}"],
        capture_output=True,
        text=True,
        env=settings,
        check=False,
    )


def test_links_stay_links_and_files_keep_their_mode(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target.name)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "target"]
    long = tmp_path / ("a" * 250)
    write_whole(long, b"there is room for the name, and no more")
    assert long.exists()


def test_pipes_and_devices_are_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # Read and write, so that a writer who does not come leaves no one waiting.
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    write_whole(pipe, "through the pipe")
    received = os.read(reader, 100)
    os.close(reader)
    assert received == b"through the pipe"
    assert pipe.is_fifo()
    nowhere = tmp_path / "nowhere"
    nowhere.symlink_to("/dev/null")
    write_whole(nowhere, "x")
    assert nowhere.is_char_device()
    with pytest.raises(OSError, match="/dev/full"):
        write_whole(Path("/dev/full"), "x")


def test_errors_name_the_given_path(tmp_path):
    with pytest.raises(OSError) as caught:
        write_whole(tmp_path / "nothing" / "m.gpclass", "x")
    assert caught.value.filename == str(tmp_path / "nothing" / "m.gpclass")


def test_a_place_that_cannot_be_written_is_known_before_the_fit(table_file, tmp_path, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(13, "Permission denied", "/somewhere/else")

    monkeypatch.setattr("gpclass.tabular.TableModel.fit", lambda *_, **__: pytest.fail("fitted"))
    monkeypatch.setattr("tempfile.TemporaryFile", refused)
    line = one_line(run("fit", table_file, "-t", "species", "-s", tmp_path / "m.gpclass"), 2)
    assert line.endswith(f"Cannot save {tmp_path / 'm.gpclass'}: Permission denied")
    monkeypatch.undo()
    line = one_line(run("predict", table_file, table_file, "-o", tmp_path / ("x" * 300)), 2)
    assert "File name too long" in line
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert "a loop of links" in one_line(run("predict", table_file, table_file, "-o", loop), 2)


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_scores_are_shown_though_saving_fails(table_file, tmp_path, monkeypatch, json):
    def full(*_, **__):
        raise OSError(28, "No space left on device", str(tmp_path / "m.gpclass"))

    monkeypatch.setattr("gpclass.io.persistence.write_whole", full)
    ran = run("fit", table_file, "-t", "species", "-s", tmp_path / "m.gpclass", *json)
    assert one_line(ran) == f"gpclass: {tmp_path / 'm.gpclass'}: No space left on device"
    assert "note: column 'plant'" in ran.stderr
    assert ('"saved": null' if json else "calibration error") in ran.stdout


def test_a_closed_pipe_does_not_stop_a_fit(table_file, model_file, tmp_path):
    saved = tmp_path / "m.gpclass"
    # The reader is gone before the first line is written.
    ran = process(["fit", table_file, "-t", "species", "-s", saved], "| exec true")
    assert (ran.returncode, saved.exists()) == (0, True), ran.stderr
    assert all(line.startswith("note:") for line in ran.stderr.splitlines())
    ran = process(["predict", model_file, table_file], "> /dev/full")
    assert (ran.returncode, ran.stderr) == (1, "gpclass: standard output: No space left on device\n")


@pytest.fixture
def closed_pipe():
    """The writing end of a pipe without reader."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        yield stream


def exit_code(words, stdout, monkeypatch):
    """Of a command in this process with another standard output."""
    monkeypatch.setattr(_console.out, "quiet", False)
    monkeypatch.setattr(sys, "stdout", stdout)
    return app([str(word) for word in words], standalone_mode=False) or 0


def test_standard_output_without_reader_is_no_error(
    table_file, model_file, tmp_path, closed_pipe, fixed_parameters, monkeypatch
):
    fit = ["fit", table_file, "-t", "species", "-s", tmp_path / "m.gpclass"]
    assert exit_code(fit, None, monkeypatch) == 0
    assert (tmp_path / "m.gpclass").exists()
    assert exit_code(fit, closed_pipe, monkeypatch) == 0
    assert exit_code(["predict", model_file, table_file], None, monkeypatch) == 0
    assert exit_code(["evaluate", model_file, table_file, "--json"], None, monkeypatch) == 0


def test_json_to_a_closed_pipe_is_no_error(table_file, model_file, closed_pipe, monkeypatch):
    assert exit_code(["predict", model_file, table_file, "--json"], closed_pipe, monkeypatch) == 0


def test_standard_output_in_ascii(table_file, model_file, frame, tmp_path, fixed_parameters, monkeypatch, capsys):
    stdout = TextIOWrapper(BytesIO(), encoding="ascii")
    fit = ["fit", table_file, "-t", "species", "-s", tmp_path / "m.gpclass"]
    assert exit_code(fit, stdout, monkeypatch) == 0
    stdout.flush()
    assert b"saved as" in stdout.buffer.getvalue()
    frame.assign(plant=[f"Blüte {i}" for i in range(60)]).to_csv(tmp_path / "b.csv", index=False)
    stdout = TextIOWrapper(BytesIO(), encoding="ascii")
    assert exit_code(["predict", model_file, tmp_path / "b.csv"], stdout, monkeypatch) == 1
    assert stdout.buffer.getvalue() == b""
    assert capsys.readouterr().err.endswith("and its encoding is ascii; --out writes a file in UTF-8\n")


def test_names_of_files_as_people_write_them(table_file, model_file, tmp_path):
    assert run("predict", model_file, table_file, "-o", tmp_path / "P.PARQUET").exit_code == 0
    assert len(pd.read_parquet(tmp_path / "P.PARQUET")) == 60
    spec = tmp_path / "views.toml"
    spec.write_text("form = ['size', 'weight']\n", encoding="utf-8-sig")
    saved = tmp_path / "my model.gpclass"
    ran = run("fit", table_file, "-t", "species", "--views", spec, "--save", saved)
    assert ran.exit_code == 0, ran.output
    assert f"next: gpclass predict '{saved}' NEW.csv" in ran.stdout
    assert isinstance(gpclass.load(saved), gpclass.tabular.TableModel)
