"""Mirror engines, a package each. What several of them share lies beside the packages."""
