"""Accuracy of naive Bayes on rows in a file, once per line of input. Runs in diffprivlib's own environment."""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
from diffprivlib.models import GaussianNB  # type: ignore[import-not-found]  # it is not installed where types are checked

for line in sys.stdin:
    job = json.loads(line)
    data = np.load(job["file"])
    lower, upper = job["bounds"]
    d = data["train"].shape[1]
    model = GaussianNB(
        epsilon=job["epsilon"], bounds=(np.full(d, lower), np.full(d, upper)), random_state=job["random_state"]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # noise may make a variance zero
        model.fit(data["train"], data["train_labels"])
        bayes = model.predict(data["test"])
    distances = (model.theta_**2).sum(axis=1) - 2 * data["test"] @ model.theta_.T
    nearest = model.classes_[distances.argmin(axis=1)]
    answer = {
        "bayes": float((bayes == data["test_labels"]).mean()),
        "nearest": float((nearest == data["test_labels"]).mean()),
    }
    print(json.dumps(answer), flush=True)
