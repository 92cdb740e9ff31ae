"""Queries about rows: the queries as data, the interfaces that answer them, and the domain of rows."""
