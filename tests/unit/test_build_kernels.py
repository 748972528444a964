"""A build without a compiler or headers ends with one line that says what to install."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from setuptools import Distribution
from setuptools.errors import PlatformError

from tests.docs_pages import tool


def test_a_missing_compiler_is_named_in_one_line() -> None:
    command = tool("build_kernels").BuildKernels(Distribution())
    command.compiler = SimpleNamespace(compiler_type="unix", compiler_so=["no-such-cc", "-pthread"])
    with pytest.raises(PlatformError) as error:
        command.build_extensions()
    message = str(error.value)
    assert "\n" not in message
    for part in ("no-such-cc was not found", "apt-get install gcc", "--only-binary"):
        assert part in message


def test_missing_headers_are_named_until_they_are_there(tmp_path: Path) -> None:
    missing = tool("build_kernels").missing
    compiler = tmp_path / "cc"
    compiler.touch(0o755)
    message = missing(str(compiler), tmp_path)
    assert "has no Python.h" in message
    assert "python3-dev" in message
    (tmp_path / "Python.h").touch()
    assert missing(str(compiler), tmp_path) is None


def test_a_compiled_kernel_is_kept_for_the_headers_it_includes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was left out would make an edit of it do nothing; all would compile everything."""
    monkeypatch.chdir(Path(__file__).parents[2])
    source = tmp_path / "kernel.c"
    source.write_text('#include "Python.h"\n    #include "byte_kinds.h"\n', encoding="utf-8")
    found = [path.name for path in tool("build_kernels").headers(source)]
    assert found == ["byte_blocks.h", "byte_kinds.h", "portable.h"]


def test_the_compiler_of_microsoft_gets_flags_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It knows none of gcc's, and setuptools gives it no ``compiler_so``."""
    monkeypatch.chdir(tmp_path)
    build = tool("build_kernels")
    given = []
    monkeypatch.setattr(build, "cythonize", lambda extensions, **_: extensions)
    monkeypatch.setattr(
        build.build_ext, "build_extension", lambda _, ext: given.append(ext.extra_compile_args)
    )
    (tmp_path / "kernel.c").touch()
    command = build.BuildKernels(Distribution())
    command.compiler = SimpleNamespace(compiler_type="msvc")
    command.parallel = command.verbose = 0
    kernel = build.Extension("kernel", ["kernel.c"], extra_compile_args=["-O3"])
    kernel.cython_directives = {"boundscheck": False}
    command.extensions = [kernel]
    command.build_extensions()
    assert given == [build.MSVC_FLAGS]


def test_a_kernel_with_an_error_fails_in_the_same_words_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Cython caches a failed translation; the next build took it, and the C compiler failed."""
    monkeypatch.chdir(tmp_path)
    build = tool("build_kernels")
    monkeypatch.setattr(build, "missing", lambda *_: None)
    (tmp_path / "kernel.pyx").write_text("cdef int broken(:\n", encoding="utf-8")
    command = build.BuildKernels(Distribution())
    command.finalize_options()
    command.compiler = SimpleNamespace(compiler_type="unix", compiler_so=["true"])
    for _ in range(2):
        kernel = build.Extension("kernel", ["kernel.pyx"])
        kernel.cython_directives = {"boundscheck": False}
        command.extensions, command.parallel = [kernel], 1
        with pytest.raises(build.CompileError):
            command.build_extensions()
        assert "kernel.pyx:1:16" in capfd.readouterr().err


def test_an_object_of_a_strict_build_serves_an_ordinary_one_and_not_the_reverse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else ``make kernel-test`` would compile all kernels again after a strict build."""
    monkeypatch.chdir(tmp_path)
    build = tool("build_kernels")
    command = build.BuildKernels(Distribution())
    command.finalize_options()
    command.cache, command.build_lib = tmp_path, str(tmp_path / "lib")
    command.compiler = SimpleNamespace(
        compiler_type="unix", compiler_so=["true"], linker_so=["true"]
    )
    compiled = []

    def compile_one(_: object, ext: object) -> None:
        compiled.append(ext.extra_compile_args)
        path = Path(command.get_ext_fullpath("kernel"))
        path.parent.mkdir(exist_ok=True)
        path.touch()

    monkeypatch.setattr(build.build_ext, "build_extension", compile_one)
    (tmp_path / "kernel.c").touch()
    plain, strict, other = ["-O3"], ["-O3", "-Wall", "-Wextra", "-Werror"], ["-O2"]
    for flags in (plain, plain, strict, plain, strict, other):
        command.build_extension(build.Extension("kernel", ["kernel.c"], extra_compile_args=flags))
    assert compiled == [plain, strict, other]
