"""Privacy audits: attacks that test whether the guarantee holds."""
