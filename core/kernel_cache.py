# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiled kernels: what is made of them, what is kept on disk, and room to compile them in."""

from __future__ import annotations

import functools
import gc
import hashlib
from pathlib import Path

import llvmlite.binding as llvm
from numba.core import typed_passes, untyped_passes
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder


class _Part(JITCodeLibrary):
    """The code of a function that is laid into all that call it: it is kept for them, and no machine code is made of it."""

    def _finalize_final_module(self):
        self._finalized = True
        whole = self._get_module_for_linking()
        # numba asks for the place of its environment all the same
        places = [f'@"{one.name}" = common global ptr null' for one in whole.global_variables if "NumbaEnv" in one.name]
        self._final_module = llvm.parse_assembly(
            "\n".join([str(self._codegen._create_empty_module(self.name)), *places])
        )
        super()._finalize_final_module()


class _Joint(_Part):
    """As `_Part`, of one that mostly calls others: it is optimised where it is laid into alone."""

    def _optimize_final_module(self):
        passes, builder = self._codegen._module_pass_manager(
            loop_vectorize=False, slp_vectorize=False, opt=0, cost="cheap"
        )
        passes.run(self._final_module, builder)


NEEDLESS = {
    untyped_passes.WithLifting, untyped_passes.InlineClosureLikes, untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.InlineInlinables, untyped_passes.RewriteDynamicRaises, untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll, untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.InlineOverloads, typed_passes.NopythonRewrites, typed_passes.AnnotateTypes,
}  # fmt: skip
"""Passes for what no kernel has: closures, context managers, exceptions, loops over tuples, whole arrays in a formula; and what is
for reading alone."""


class KernelCompiler(CompilerBase):
    """numba's own, with fewer passes."""

    def define_pipelines(self):
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [one for one in passes.passes if one[0] not in NEEDLESS]
        return [passes]


class PartCompiler(KernelCompiler):
    """For functions that are laid into others."""

    library = _Part

    def define_pipelines(self):
        self.state.library = self.library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        return super().define_pipelines()


class JointCompiler(PartCompiler):
    """For those among them that mostly call others."""

    library = _Joint


class KernelCache(FunctionCache):
    """As numba's own, which sees a change in a function's own file alone: others that it calls are part of its code, too.

    And so are the names of modules: in a checkout that is linked in as an extension, the same files are another package's.
    """

    def __init__(self, function) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = sources(Path(function.__code__.co_filename).parent), function.__module__


@functools.cache
def sources(folder: Path) -> str:
    """A hash of all modules in a folder."""
    known = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        known.update(path.name.encode() + b"\0" + path.read_bytes())
    return known.hexdigest()


class _MachineCode(CompileResultCacheImpl):
    """Of functions whose LLVM code is seldom asked for again: to read that takes longer than to link the machine code."""

    def reduce(self, compiled):
        *all_of_it, _ = super().reduce(compiled)
        return *all_of_it, ()  # no environments of what was laid into it: no Python object is used in a kernel

    def rebuild(self, target_context, kept):
        (name, kind, (code, whole)), function, *others = kept
        # numba asks what is in there: the wrapper for Python is
        named = llvm.parse_assembly(f'define void @"{function.llvm_cpython_wrapper_name}"() {{ ret void }}')
        compiled = super().rebuild(target_context, ((name, kind, (code, named.as_bitcode())), function, *others))
        compiled.library._get_module_for_linking = functools.cache(lambda: llvm.parse_bitcode(whole))
        return compiled


class EntryCache(KernelCache):
    """Of a kernel that Python calls.

    numba sets up its compiler before it looks for compiled code, which takes nearly as long as to import it. Machine code needs none.
    """

    _impl_class = _MachineCode

    def load_overload(self, signature, target_context):
        with self._guard_against_spurious_io_errors():
            return self._load_overload(signature, target_context)


def with_room(call, *args):
    """Calls with a megabyte for the interpreter's frames at hand, and without looking for garbage.

    The compiler calls itself kernel by kernel. Where the frames of so deep a call fill a block of memory, Python takes another for each
    inner call and gives it back, hundreds of thousands of times. And it makes objects by the million, hardly any of which is garbage.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return call(*args)
    finally:
        if collects:
            gc.enable()


with_room.__code__ = with_room.__code__.replace(co_stacksize=(1 << 16) + 1)  # Python makes the block fit its frame
