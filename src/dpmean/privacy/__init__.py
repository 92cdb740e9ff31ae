"""What is promised: budgets, how they convert and add up, neighbours, and receipts."""
