"""MirrorMaker 2: wire formats, the offset map, translation, the connectors' desired state. Pure."""
