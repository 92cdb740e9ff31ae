"""What is behind ``dpmean.Ledger``: what releases cost together, and a file that survives crashes."""
