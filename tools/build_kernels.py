"""The command that builds the kernels: on all cores, and nothing twice.

What was compiled once from the same sources, by the same compiler with the same flags, is copied
from ``build/kernels``, or from the folder that ``RAG_EVAL_KERNEL_CACHE`` names.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from Cython.Build import cythonize
from Cython.Compiler.Errors import CompileError
from setuptools import Extension
from setuptools.command.build_ext import build_ext
from setuptools.errors import PlatformError

NATIVE = Path("_native")
MAX_CACHED = 200  # about 30 MB
# From Visual Studio 2022 on /fp:precise leaves a multiplication and an addition apart.
MSVC_FLAGS = ["/O2", "/std:c11", "/fp:precise"]
INSTALLS = (
    "Debian and Ubuntu: apt-get install gcc python3-dev; Fedora: dnf install gcc python3-devel; "
    "Alpine: apk add build-base python3-dev; macOS: xcode-select --install"
)


def missing(compiler: str, include: Path) -> str | None:
    """What a build lacks and how to get it, in one line; None where it lacks nothing."""
    if shutil.which(compiler) is None:
        what = f"a C compiler: {compiler} was not found"
    elif not (include / "Python.h").exists():
        what = f"the headers of Python: {include} has no Python.h"
    else:
        return None
    return (
        f"rag-eval-native is built from source here, which needs {what}. Install it ({INSTALLS}), "
        "or choose a Python and a platform that have a wheel: "
        "pip install --only-binary rag-eval-native rag-eval-native"
    )


def headers(source: Path) -> list[Path]:
    """The headers of ``_native/`` that a C file includes, at whatever remove."""
    found: set[Path] = set()
    left = [source]
    while left:
        names = re.findall(r'^\s*#\s*include "(\w+\.h)"', left.pop().read_text("utf-8"), re.M)
        new = {NATIVE / name for name in names if (NATIVE / name).exists()} - found
        found |= new
        left += new
    return sorted(found)


class BuildKernels(build_ext):  # type: ignore[misc]  # without types
    """``build_ext`` that translates no more than it builds."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel: int = self.parallel or os.cpu_count() or 1
        # A file of an earlier build may be younger than the sources and still of others.
        self.force = True

    def build_extensions(self) -> None:
        """Translate all, then compile all, the longest first: none is waited for at the end."""
        if self.compiler.compiler_type == "msvc":
            for ext in self.extensions:
                ext.extra_compile_args = MSVC_FLAGS
        elif lacking := missing(self.compiler.compiler_so[0], Path(sysconfig.get_path("include"))):
            raise PlatformError(lacking)
        self.cache = Path(os.environ.get("RAG_EVAL_KERNEL_CACHE", "build/kernels")).absolute()
        self.cache.mkdir(parents=True, exist_ok=True)
        directives = self.extensions[0].cython_directives
        cache = self.cache / "cython"
        try:
            translated = cythonize(  # type: ignore[no-untyped-call]
                [
                    Extension(ext.name, ext.sources, include_dirs=ext.include_dirs)
                    for ext in self.extensions
                ],
                include_path=[NATIVE.as_posix()],
                # One folder per set of directives: a file there may be younger than its sources.
                build_dir="build/cython-checked" if directives["boundscheck"] else "build/cython",
                cache=str(cache),
                compiler_directives=directives,
                nthreads=self.parallel,
                quiet=not self.verbose,
            )
        except CompileError:
            # Cython caches what it has of a kernel with an error, too: the next build would take
            # that for its translation, and say no more what is wrong.
            shutil.rmtree(cache, ignore_errors=True)
            raise
        sources = {ext.name: ext.sources for ext in translated}
        for ext in self.extensions:
            ext.sources = sources[ext.name]
        self.extensions.sort(key=lambda ext: -Path(ext.sources[0]).stat().st_size)
        super().build_extensions()
        kept = sorted(self.cache.glob("*.so"), key=lambda path: path.stat().st_mtime)
        for path in kept[:-MAX_CACHED]:
            path.unlink(missing_ok=True)

    def build_extension(self, ext: Extension) -> None:
        """Copy the extension from the cache, or compile it and keep a copy there."""
        if self.compiler.compiler_type == "msvc":
            super().build_extension(ext)
            return
        built = Path(self.get_ext_fullpath(ext.name))
        # Warnings change no object, but only a strict build has shown that there are none.
        name = f"{ext.name}-{self.fingerprint(ext)}"
        cached = self.cache / f"{name}-strict.so"
        if "-Werror" not in ext.extra_compile_args and not cached.exists():
            cached = self.cache / f"{name}.so"
        if cached.exists():
            built.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(cached, built)
            os.utime(cached)
            return
        super().build_extension(ext)
        # Under another name first: who builds beside this one never sees half a file.
        with tempfile.TemporaryDirectory(dir=self.cache) as folder:
            Path(shutil.copy(built, folder)).replace(cached)

    def fingerprint(self, ext: Extension) -> str:
        """A hash of all that decides the bytes of an extension."""
        compiler = self.compiler.compiler_so
        version = subprocess.run([compiler[0], "--version"], capture_output=True, check=True).stdout
        own = [flag for flag in ext.extra_compile_args if not flag.startswith("-W")]
        flags = (compiler, self.compiler.linker_so, own, ext.extra_link_args)
        decides = (version, flags, sys.version, self.get_ext_filename(ext.name))
        content = hashlib.sha256(repr(decides).encode())
        for source in ext.sources:
            for path in [Path(source), *headers(Path(source))]:
                content.update(path.read_bytes())
        return content.hexdigest()
