"""Rehearsals of one cluster over several sites: what was stated of a site's loss, beside what happened."""
