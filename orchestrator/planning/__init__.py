"""Procedures as pure functions: topology + observation + request -> plan."""
