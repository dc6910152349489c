import os

import pytest

from consilience.io.files import UNFINISHED, checked_path, put_in_place


def test_a_file_is_replaced_when_the_block_ends_well(tmp_path):
    target = tmp_path / "note.txt"
    target.write_text("old")
    with put_in_place(target) as scratch:
        scratch.write_text("new")
        assert target.read_text() == "old"
        assert scratch.suffix == ".txt"
        assert list(tmp_path.glob(UNFINISHED)) == [scratch]
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_was_there_stays_when_the_block_fails(tmp_path, error):
    target = tmp_path / "note.txt"
    target.write_text("old")
    with pytest.raises(error), put_in_place(target) as scratch:
        scratch.write_text("half")
        raise error
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_disk_that_is_full_is_noticed_before_the_renaming(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"), put_in_place(tmp_path / "note.txt") as scratch:
        scratch.write_text("all of it")
    assert list(tmp_path.iterdir()) == []


def test_paths_that_cannot_be_written_to_say_why(tmp_path):
    target = tmp_path / "note.txt"
    assert checked_path(str(target), False, "a.txt") == target
    target.write_text("old")
    assert checked_path(target, True, "a.txt") == target
    with pytest.raises(FileExistsError, match=r"note\.txt exists; pass force=True"):
        checked_path(target, False, "a.txt")
    with pytest.raises(IsADirectoryError, match=r"is a folder; name a file, such as .*a\.txt"):
        checked_path(tmp_path, True, "a.txt")
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*absent to write b\.txt into"):
        checked_path(tmp_path / "absent" / "b.txt", True, "a.txt")
