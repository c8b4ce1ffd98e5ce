"""Options that commands share: the same names, words and defaults."""

from __future__ import annotations

from collections.abc import Iterable

import typer

FILE = typer.Argument(None, help="A topology file; not needed when exactly one simulation runs.")
ACCEPT_REREAD = typer.Option(
    0,
    "--accept-reread",
    metavar="N",
    min=0,
    help="Accept that groups read up to N records again where a position has no exact place.",
)
ACCEPT_UNREAD = typer.Option(
    [],
    "--accept-unread",
    metavar="CONSUMER",
    help="A consumer that may miss what is written after the move: it does not read where that goes.",
)
ACKNOWLEDGE = typer.Option(
    "",
    "--acknowledge",
    metavar="OWNER: COMMENT",
    help="Who answers for a move so soon after another one, and why.",
)
ACCEPT_CLUSTER = typer.Option(
    [],
    "--accept-cluster",
    metavar="NAME=ID",
    help="A cluster that is right though it is another one than before, with the id that it has now.",
)
ACCEPT_MARGIN = typer.Option(
    False,
    "--accept-margin",
    help="Within a stretched cluster: go on although the next lost broker would take more along than it "
    "should (gate margin-after).",
)
ACCEPT_UNPROVEN = typer.Option(
    False,
    "--accept-unproven",
    help="Within a stretched cluster: change its metadata quorum although nobody has tried it on this "
    "version of Kafka (gate quorum-proven).",
)
LOWER_MIN_INSYNC = typer.Option(
    [],
    "--lower-min-insync",
    metavar="TOPIC,…|all",
    help="Within a stretched cluster: lower min.insync.replicas of these topics, although they prefer "
    "consistency, so that they take writes without the site.",
)
ACCEPT_LOSS = typer.Option(
    None,
    "--accept-loss",
    metavar="N",
    min=0,
    help="Accept the loss of N records, in place of the budget.",
)
APPLICATIONS = typer.Option(
    [],
    "--applications",
    metavar="NAME,…",
    help="Only these. A consumer alone goes on in copies of its topics.",
)
TOPICS = typer.Option(
    [], "--topics", metavar="NAME,…", help="Only these topics, each with all that write and read it."
)
LEFT_OUT = typer.Option(
    [],
    "--except",
    metavar="NAME,…",
    help="Applications and topics that stay where they are; of several lost clusters, whole ones.",
)
SNAPSHOT = typer.Option(
    None, "--snapshot", help="Positions from a file of `offsets snapshot`, taken at the source."
)
REASON = typer.Option("", "--reason", help="Why; kept in the journal.")
DRY_RUN = typer.Option(False, "--dry-run", help="Only say what it would do.")
GRAPH = typer.Option(
    None,
    "--graph",
    metavar="FILE.dot|FILE.mmd",
    help="With --dry-run: draw the plan, for Graphviz or as Mermaid, by the file's ending.",
)
OUT = typer.Option(None, "-o", "--out", metavar="PLAN", help="Write the plan to a file.")
FULL = typer.Option(False, "--full", help="Name every gate, topic, consumer and step, not only the worst.")
SIGNING_KEY = typer.Option(
    None,
    "--signing-key",
    metavar="FILE",
    envvar="DCCTL_SIGNING_KEY",
    help="Sign the evidence with this Ed25519 key (PEM), in place of this installation's own.",
)
YES = typer.Option(False, "--yes", help="Do it without asking; needed where there is no terminal.")
JSON = typer.Option(False, "--json", help="Machine-readable output.")


def names(said: Iterable[str]) -> tuple[str, ...]:
    """Those of options, each of which may have several with commas between; each name once."""
    found = (name.strip() for each in said for name in each.split(","))
    return tuple(dict.fromkeys(name for name in found if name))
