"""The refined mean: its steps, and the plan that divides its budget."""
