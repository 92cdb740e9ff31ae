"""The central model: a trusted curator."""
