"""What may be asked of rows: queries as data, who answers them, and the domain of the rows."""
