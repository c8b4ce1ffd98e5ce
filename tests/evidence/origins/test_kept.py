"""What a drill of several clusters keeps tells the same as it did, and nothing where it was changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import AuditError
from orchestrator.evidence.origins.kept import is_kept, judged_again, keep
from tests.evidence.origins.stories import Story, lost_and_home_again, lost_and_returned


@pytest.mark.parametrize("play", [lost_and_home_again, lost_and_returned])
def test_the_same_comparison_comes_out_of_what_is_kept(tmp_path: Path, play: object) -> None:
    """Of moves, and of a site that only returned."""
    story: Story = play(tmp_path / "ledgers")  # type: ignore[operator]
    assert not is_kept(tmp_path)
    keep(tmp_path, story.rehearsed(), story.world.logs)
    assert is_kept(tmp_path)
    again = judged_again(tmp_path, story.world.topology)
    assert (again.verdict, again.reasons) == ("valid", ())
    assert again.measured.compared == story.judged().measured.compared
    assert again.measured.moves == story.judged().measured.moves


def test_a_log_that_was_cut_is_found_and_one_that_cannot_be_read_is_no_verdict(tmp_path: Path) -> None:
    """What is missing counts as missing; what is no log is an error that names the place."""
    story = lost_and_home_again(tmp_path / "ledgers")
    keep(tmp_path, story.rehearsed(), story.world.logs)
    log = tmp_path / "kept" / "logs" / "east.csv"
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    log.write_text("".join(lines[:-1]), encoding="utf-8")
    assert judged_again(tmp_path, story.world.topology).verdict == "invalid"
    log.write_text("topic,partition\norders,x\n", encoding="utf-8")
    with pytest.raises(AuditError, match="cannot be read"):
        judged_again(tmp_path, story.world.topology)
