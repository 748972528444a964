"""Arrow data of any producer -> a tree of nodes and buffers, over its own memory.

The door for the Arrow C data interface: capsules come in, and what Python sees of them keeps the
producer's memory alive. A structure is taken out of its capsule, and its release callback is called
once: for a batch when the last node or buffer of it goes, for a stream when it is closed or goes.
What the structures say is not checked here beyond what a walk over them needs.
"""
cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from libc.string cimport memset, strerror

from primitives cimport int64_t

# Layouts of the C data interface and the C stream interface.

cdef struct schema_t:
    const char* format
    const char* name
    const char* metadata
    int64_t flags
    int64_t n_children
    schema_t** children
    schema_t* dictionary
    void (*release)(schema_t*) noexcept nogil
    void* private_data


cdef struct array_t:
    int64_t length
    int64_t null_count
    int64_t offset
    int64_t n_buffers
    int64_t n_children
    const void** buffers
    array_t** children
    array_t* dictionary
    void (*release)(array_t*) noexcept nogil
    void* private_data


cdef struct stream_t:
    int (*get_schema)(stream_t*, schema_t*) noexcept nogil
    int (*get_next)(stream_t*, array_t*) noexcept nogil
    const char* (*get_last_error)(stream_t*) noexcept nogil
    void (*release)(stream_t*) noexcept nogil
    void* private_data


cdef enum:
    NULLABLE = 2      # a flag of a schema
    MAX_DEPTH = 64    # of nesting; far more than any table has


@cython.final
@cython.auto_pickle(False)
cdef class SchemaNode:
    """A column's name and type, copied: nothing of the producer is kept."""

    cdef readonly str name
    cdef readonly str format
    cdef readonly bint nullable
    cdef readonly tuple children
    cdef readonly SchemaNode dictionary


cdef str as_text(const char* text):
    return (<bytes> text).decode("utf-8", "replace") if text != NULL else ""


cdef SchemaNode copied_schema(const schema_t* schema, int depth):
    cdef SchemaNode node = SchemaNode.__new__(SchemaNode)
    cdef list children = []
    cdef int64_t i
    if schema == NULL or schema.format == NULL or schema.n_children < 0:
        raise ValueError("the Arrow schema is broken: a type is missing")
    if schema.n_children and schema.children == NULL:
        raise ValueError("the Arrow schema is broken: members are missing")
    if depth == MAX_DEPTH:
        raise ValueError(f"the Arrow schema is nested more than {MAX_DEPTH} deep")
    for i in range(schema.n_children):
        children.append(copied_schema(schema.children[i], depth + 1))
    node.name = as_text(schema.name)
    node.format = as_text(schema.format)
    node.nullable = schema.flags & NULLABLE
    node.children = tuple(children)
    if schema.dictionary != NULL:
        node.dictionary = copied_schema(schema.dictionary, depth + 1)
    return node


@cython.final
@cython.auto_pickle(False)
cdef class _Batch:
    """The owner of one batch of a producer: releases it when nothing refers to it any more."""

    cdef array_t array

    def __cinit__(self):
        memset(&self.array, 0, sizeof(array_t))

    def __dealloc__(self):
        cdef void (*release)(array_t*) noexcept nogil
        release = self.array.release
        if release != NULL:
            release(&self.array)
            self.array.release = NULL


@cython.final
@cython.auto_pickle(False)
@cython.no_gc  # refers to a batch, which refers to nothing
cdef class _Memory:
    """Bytes of a batch, read-only."""

    cdef const void* data
    cdef Py_ssize_t size
    cdef _Batch batch

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, <void*> self.data, self.size, 1, flags)


@cython.final
@cython.auto_pickle(False)
@cython.no_gc  # refers to a batch, which refers to nothing
cdef class ArrayNode:
    """A column of a batch, or a part of one."""

    cdef array_t* array
    cdef _Batch batch

    @property
    def length(self):
        """Rows; where they begin in the buffers is ``offset``."""
        return self.array.length if self.array != NULL else 0

    @property
    def offset(self):
        """Rows in the buffers that come before the first."""
        return self.array.offset if self.array != NULL else 0

    @property
    def null_count(self):
        """Nulls among the rows; -1 where nobody has counted."""
        return self.array.null_count if self.array != NULL else 0

    @property
    def n_buffers(self):
        """Buffers of this node alone."""
        return self.array.n_buffers if self.array != NULL else 0

    @property
    def n_children(self):
        """Members of a struct; a list has one child."""
        return self.array.n_children if self.array != NULL else 0

    def child(self, Py_ssize_t index):
        """The child at ``index``."""
        if not 0 <= index < self.n_children or self.array.children == NULL:
            raise IndexError("the Arrow array lacks a child")
        return array_node(self.batch, self.array.children[index])

    def dictionary(self):
        """The values that the rows of a dictionary-encoded column are places in."""
        if self.array == NULL:
            raise IndexError("the Arrow array lacks its dictionary")
        return array_node(self.batch, self.array.dictionary)

    def address(self, Py_ssize_t index):
        """Where the buffer at ``index`` begins; 0 where there is none."""
        if not 0 <= index < self.n_buffers or self.array.buffers == NULL:
            return 0
        return <size_t> self.array.buffers[index]

    def buffer(self, Py_ssize_t index, Py_ssize_t n_bytes):
        """The first ``n_bytes`` of the buffer at ``index``; of one that is NULL, none.

        The interface does not say how long a buffer is: the caller knows it from the type.
        """
        cdef _Memory memory = _Memory.__new__(_Memory)
        cdef size_t address = self.address(index)
        if n_bytes < 0:
            raise ValueError("a buffer cannot have fewer than no bytes")
        memory.batch = self.batch
        memory.data = <const void*> address if address else <const void*> b""
        memory.size = n_bytes if address else 0
        return memoryview(memory)


cdef ArrayNode array_node(_Batch batch, array_t* array):
    cdef ArrayNode node
    if array == NULL:
        raise IndexError("the Arrow array lacks a part")
    node = ArrayNode.__new__(ArrayNode)
    node.batch = batch
    node.array = array
    return node


cdef void* taken_out(object capsule, const char* name) except NULL:
    """The structure in a capsule of that name."""
    if not PyCapsule_IsValid(capsule, name):
        raise TypeError(f"wanted a capsule of the kind {as_text(name)!r}")
    return PyCapsule_GetPointer(capsule, name)


cdef object stream_error(stream_t* stream, int code):
    cdef const char* told = NULL
    if stream.get_last_error != NULL:
        told = stream.get_last_error(stream)
    return OSError(code, as_text(told) if told != NULL else as_text(strerror(code)))


@cython.final
@cython.auto_pickle(False)
cdef class ArrowStream:
    """Batches of one schema, each read once."""

    cdef stream_t stream
    cdef bint busy

    def __cinit__(self):
        memset(&self.stream, 0, sizeof(stream_t))

    def __dealloc__(self):
        self.release()

    cdef void release(self) noexcept:
        cdef void (*release)(stream_t*) noexcept nogil
        release = self.stream.release
        if release != NULL:
            # The callback does nothing to a structure that looks released.
            release(&self.stream)
            self.stream.release = NULL

    cdef int begin(self) except -1:
        if self.stream.release == NULL:
            raise ValueError("the Arrow stream is closed")
        if self.busy:
            raise ValueError("the Arrow stream is being read in another thread")
        self.busy = True
        return 0

    def schema(self):
        """The schema of all batches.

        Raises OSError with what the producer says, and ValueError for a schema that is broken.
        """
        cdef schema_t schema
        cdef void (*release)(schema_t*) noexcept nogil
        cdef int code
        memset(&schema, 0, sizeof(schema_t))
        self.begin()
        try:
            with nogil:
                code = self.stream.get_schema(&self.stream, &schema)
            if code:
                raise stream_error(&self.stream, code)
            return copied_schema(&schema, 0)
        finally:
            self.busy = False
            release = schema.release
            if release != NULL:
                release(&schema)

    def next(self):
        """The next batch; None when there is none. The GIL is released while it is made.

        Raises OSError with what the producer says.
        """
        cdef _Batch batch = _Batch.__new__(_Batch)
        cdef array_t* array = &batch.array
        cdef int code
        self.begin()
        try:
            with nogil:
                code = self.stream.get_next(&self.stream, array)
            if code:
                array.release = NULL
                raise stream_error(&self.stream, code)
        finally:
            self.busy = False
        return array_node(batch, array) if array.release != NULL else None

    def close(self):
        """Release the stream; batches that were read stay. Closing twice does nothing."""
        if self.busy:
            raise ValueError("the Arrow stream is being read in another thread")
        self.release()


def open_stream(capsule):
    """The stream in an ``arrow_array_stream`` capsule, which is empty from then on."""
    cdef ArrowStream opened = ArrowStream.__new__(ArrowStream)
    cdef stream_t* stream = <stream_t*> taken_out(capsule, "arrow_array_stream")
    if stream.release == NULL:
        raise ValueError("the Arrow stream was read before")
    opened.stream = stream[0]
    stream.release = NULL
    return opened


def open_array(schema_capsule, array_capsule):
    """Schema and array of a pair of capsules; the array's is empty from then on."""
    cdef schema_t* schema = <schema_t*> taken_out(schema_capsule, "arrow_schema")
    cdef array_t* array = <array_t*> taken_out(array_capsule, "arrow_array")
    cdef _Batch batch
    if schema.release == NULL or array.release == NULL:
        raise ValueError("the Arrow array was read before")
    batch = _Batch.__new__(_Batch)
    batch.array = array[0]
    array.release = NULL
    # The schema stays in its capsule, which releases it.
    return copied_schema(schema, 0), array_node(batch, &batch.array)
