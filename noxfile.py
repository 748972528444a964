"""The suite on other Pythons and dependencies than those of `make test`.

``pip install 'nox[uv]'``, then ``nox --list``. A Python that is not installed is passed over.
"""

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv"
nox.options.download_python = "never"
nox.options.sessions = ["suite"]


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def suite(session: nox.Session) -> None:
    """Run the suite on each Python that is installed, with the newest dependencies."""
    session.install("--editable", ".[test]")
    session.run("python", "-m", "pytest", *(session.posargs or ["-n", "logical"]))


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """Build and test with the lowest version of each dependency that pyproject.toml allows."""
    build = nox.project.load_toml("pyproject.toml")["build-system"]["requires"]
    lowest = ("--resolution", "lowest-direct")
    session.install(*lowest, *build)
    ours_alone = ("--no-build-isolation-package", "rag-eval-native")
    session.install(*lowest, *ours_alone, "--editable", ".[test]")
    passed_over = (
        # Pages show what current versions print: scikit-learn's held-out accuracy differs in a
        # digit, and click 8.2 shows the optional command of `history` without brackets.
        "tests/e2e/test_readme.py::test_a_page_does_and_prints_what_it_shows",
        "tests/unit/docs/test_blocks.py::test_the_reference_is_that_of_the_help_and_the_public_names",
        # rich-click 1.9.0 imports rich's table of emoji when commands are declared.
        "tests/e2e/test_cli_program.py::test_the_help_does_without_the_table_of_emoji",
    )
    tests = session.posargs or ["-n", "logical", *(f"--deselect={one}" for one in passed_over)]
    session.run("python", "-m", "pytest", *tests)


@nox.session(python="3.14t")
def free_threaded(session: nox.Session) -> None:
    """Run each kernel on eight threads without the GIL."""
    session.install("--editable", ".", "hypothesis", "pyarrow", "pytest", "pytest-timeout")
    # It does not declare itself safe without the GIL and would switch it on.
    session.install("unicodedata2==17.0.1")
    tests = ("tests/unit/kernels/test_threads.py", *session.posargs)
    session.run("python", "-m", "pytest", *tests, env={"PYTHON_GIL": "0"})


@nox.session(python="3.13")
def wheels(session: nox.Session) -> None:
    """Build, repair and test this platform's wheels in wheelhouse/; on Linux Docker has to run."""
    session.install("cibuildwheel==4.2.0")
    session.run("cibuildwheel", "--output-dir", "wheelhouse", *session.posargs)
