"""What is asked, in which order: an estimator reads like a page of the paper."""
