"""Each record once by each consumer that should: compared by where records were produced, at any number of
places.

    told = read_ledgers(topology, ledgers)
    found = compare_origins(topology, told, logs=read_logs(topology, clusters),
                            windows={name: stays(topology, told, consumer, starts)})
    found.copies      how often each acknowledged record stands at each cluster
    found.readings    what each consumer has made of each origin's records
    found.problems()  in words; nothing where each record was processed once and nothing is missing

A *record* is one send: its producer, number, and the producer's life. Its *origin* is the cluster where that
life was lived, and the topic. Nothing here knows a mirror: what is called how where follows from the file.
"""

from orchestrator.evidence.origins.compared import Compared, CopyFigures, Logs, OriginFigures, compare_origins
from orchestrator.evidence.origins.logs import read_logs
from orchestrator.evidence.origins.stays import stays
from orchestrator.evidence.origins.told import Origin, Told, read_ledgers

__all__ = [
    "Compared",
    "CopyFigures",
    "Logs",
    "Origin",
    "OriginFigures",
    "Told",
    "compare_origins",
    "read_ledgers",
    "read_logs",
    "stays",
]
