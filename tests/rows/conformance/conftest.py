"""Real clusters of two workers each, started once; in CI an engine that is not there is a failure."""

import os
import shutil
import sys
import warnings
from pathlib import Path

import pytest

from tests.rows.conformance.problems import missing

_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # Java compiles for some seconds only, and not for hours


@pytest.fixture(scope="session")
def dask_client():
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        missing("Dask is not installed: pip install 'dpmean[dask]'")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def spark():
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        missing("Spark is not installed: pip install 'dpmean[spark]'")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        missing("Java is not installed, and Spark needs it: apt-get install openjdk-17-jre-headless")
    root = Path(__file__).parents[3]
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Spark's own start has to say
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = (
            SparkSession.builder.master("local-cluster[2,1,1024]")
            .appName("conformance")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.extraJavaOptions", _SHORT_LIVED)
            .config("spark.executor.extraJavaOptions", _SHORT_LIVED)
            .config("spark.executorEnv.PYTHONPATH", f"{root / 'src'}{os.pathsep}{root}")
            .config("spark.executorEnv.PYSPARK_PYTHON", sys.executable)
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()
