"""The relocation of a checkpoint on its disk, and the pass over all of a move."""
