"""A picture in sentences, for those who cannot see it."""

from __future__ import annotations

from orchestrator.topology.graph.parts import Parts
from orchestrator.topology.graph.picture.measured import Contents
from orchestrator.topology.graph.wording import few, joined, mode_words, policy_words, quorum_words


def described(parts: Parts, contents: Contents) -> str:
    """The picture in sentences, for those who cannot see it."""
    sentences = [f"Sites from left to right: {joined(contents.grid.sites)}."]
    for card in contents.cards:
        cluster = card.band.cluster
        servers = "; ".join(
            f"in {site} " + (", ".join(row.words for row in rows.values()) or "no server")
            for site, rows in card.rows.items()
        )
        topics = few([topic.name for topic in cluster.topics], 5) or "none"
        sentences.append(
            f"Cluster {card.name} ({mode_words(cluster)}): {servers}. "
            f"{quorum_words(parts.quorums[card.name])}. Topics: {topics}."
        )
    for mirror in contents.mirrors:
        topics = few(mirror.topics, 5) or "no topics"
        sentences.append(f"Mirror from {mirror.source} to {mirror.target}, {policy_words(mirror)}: {topics}.")
    for standby in contents.standbys:
        whose = "" if standby.is_all else f" ({few(standby.applications, 5) or 'nobody yet'})"
        sentences.append(f"Standby of {standby.source}{whose}: {standby.target}.")
    for verb, found in (
        ("Producers", [app for card in contents.cards for app in card.producers]),
        ("Consumers", [app for card in contents.cards for app in card.consumers]),
    ):
        if found:
            told = [f"{app.name} ({app.cluster})" for app in found]
            sentences.append(f"{verb}: {few(told, 10)}.")
    return " ".join(sentences)
