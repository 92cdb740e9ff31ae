"""The implementation of ``dpmean.Ledger``: the total cost of releases, and a file that survives crashes."""
