"""What readers search for, and the page that answers it: these pages come first when one of the terms is searched.

The terms become entries of the index, to which Sphinx's search gives more weight than to words of a text. A term may be
searched by a part of it that is at least half as long: plurals find singulars.
"""

from typing import Any
from zlib import crc32

TERMS = {
    "guide/getting_started": ("install", "installation", "first release", "too few rows", "quick start"),
    "guide/tables": ("missing values", "missing data", "nan", "data frames", "pandas", "polars", "parquet files"),
    "guide/csv_files": ("csv files", "separator", "decimal comma", "encoding"),
    "guide/comparison": (
        *("comparison with other libraries", "alternatives", "opendp", "tumult analytics", "diffprivlib", "pipelinedp"),
        *("pydp", "google", "medians", "quantiles", "histograms", "sql"),
    ),
    "guide/which_rho": ("epsilon", "delta", "privacy budget", "ledger", "composition", "rho"),
    "guide/which_bound": ("clipping bound", "norm bound", "outliers", "sensitivity"),
    "guide/how_accurate": ("accuracy", "error bound", "speed"),
    "guide/confidence_intervals": (
        *("confidence intervals", "margin of error", "margins of error", "standard errors", "standard deviations"),
        *("differences of groups", "population mean", "significance", "variance"),
    ),
    "guide/people_and_groups": (
        "group by",
        "mean by group",
        "user-level privacy",
        "user level privacy",
        "privacy unit",
        "persons",
        "groups",
    ),
    "guide/sharp_edges": ("pitfalls", "mistakes", "sensitive data"),
    "guide/clusters": ("spark", "dask", "duckdb", "gpu", "cuda", "pytorch", "tensors"),
    "guide/document": ("report", "html page", "publish"),
    "local": ("local differential privacy", "local model", "randomized response", "devices"),
    "shuffle": ("shuffle model", "secure aggregation"),
    "privacy_guarantee": ("proofs", "neighbouring data sets", "zcdp", "concentrated differential privacy", "audit"),
    "guide/attacks": (
        *("attacks", "membership inference", "side channels", "timing attacks", "reconstruction", "differencing"),
        *("averaging attacks", "poisoning", "floating-point attacks"),
    ),
    "known_limits": ("limits", "what a refusal reveals"),
    "robustness": ("fuzzing", "mutation testing", "crashes"),
    "recipes/survey": ("survey", "questionnaire", "income"),
    "recipes/hospital": ("hospital", "patients", "clinical data", "health data"),
    "recipes/gradients": ("gradients", "dp-sgd", "training a model"),
    "recipes/telemetry": ("telemetry", "usage statistics", "app usage"),
    "guide/glossary": ("glossary", "definitions", "what does it mean"),
    "results/figures": ("huang liang yi", "reproduction", "coinpress", "plan"),
    "sklearn": ("scikit-learn", "nearest centroid", "classifiers", "embeddings", "class prototypes", "cosine"),
}


def _enter(_app: Any, docname: str, source: list[str]) -> None:
    """Enter the terms of a page in the index, below its title."""
    if docname in TERMS:
        title, rest = source[0].split("\n", 1)
        terms = ", ".join(f"! {term}" for term in TERMS[docname])
        source[0] = f"{title}\n\n```{{index}} {terms}\n```\n{rest}"


def setup(app: Any) -> dict[str, int]:
    """Enter terms when pages are read; with other terms all pages are read anew."""
    app.connect("source-read", _enter)
    return {"env_version": crc32(repr(TERMS).encode()), "parallel_read_safe": True, "parallel_write_safe": True}
