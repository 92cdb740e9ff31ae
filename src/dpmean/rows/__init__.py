"""Engines: how rows are read from memory, files, databases and clusters, and turned into exact totals.

An engine counts rows and adds them up. It knows nothing about privacy: the trust model adds the noise.
"""
