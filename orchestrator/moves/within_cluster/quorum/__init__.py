"""The metadata quorum of a cluster over two sites: one of the survivors alone, and all of them again."""
