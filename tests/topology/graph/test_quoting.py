"""Text of any kind stays text in both languages."""

from __future__ import annotations

from orchestrator.topology.graph.quoting import dot_quoted, mermaid_quoted


def test_what_a_language_would_read_is_escaped() -> None:
    """Ends of strings, tags, character references, Markdown."""
    assert dot_quoted('a "b" \\N', "R&lt;D") == '"a \\"b\\" \\\\N\\nR&amp;lt;D"'
    assert mermaid_quoted('"`**a**`"', "R&lt;D #1") == (
        '"#quot;#96;#42;#42;a#42;#42;#96;#quot;<br>R#amp;lt;D #35;1"'
    )


def test_a_line_is_one_line() -> None:
    """A name with a line break, or with what a terminal obeys, cannot begin a statement."""
    assert dot_quoted("a\n}\x1b[1m") == '"a } [1m"'
    assert mermaid_quoted("a\r\nend\u2028") == '"a  end "'
