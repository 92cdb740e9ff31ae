"""Privacy accounting: budgets, conversion and composition, neighbours, and receipts."""
