"""Rows of result files: words as JSON with places for values, filled.

What is written and how it is worded is told by Python, once; here it is only put together, from
what kernels kept of the rows of a block.
"""
cimport cython
from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from evidence_json cimport numbers_t, put_details, put_numbers
from grounded_words cimport (
    close_facts, grounded_facts_t, grounded_limits_t, grounded_variant, put_grounded_values,
    read_grounded,
)
from kept_details cimport kept_t, open_kept, seek_row
from outcomes cimport N_ALL_METRICS
from overlap_words cimport (
    LACKED_BY_ALL, PLAIN, overlap_facts_t, overlap_limits_t, overlap_variant, put_overlap_values,
    read_overlap,
)
from primitives cimport int64_t, offset_t, reserve, span_t, text_at, text_t, texts_t, uint8_t
from row_output cimport (
    N_COLUMNS, UNKNOWN, begin_form, begin_metric, close_output, end_values, form_t, output_t, put,
    put_byte, put_phrase, put_piece,
)

cdef enum:
    KEPT_BYTES = 1 << 24       # of memory, between blocks
    N_ARRAYS = 18              # of a block
    N_LIMITS = 15


cdef struct block_t:
    int64_t n_rows
    const text_t* samples
    kept_t kept
    const int64_t* rows        # where each begins in what was kept
    numbers_t scores
    numbers_t composites
    numbers_t values           # only with details
    const uint8_t* verdicts
    const uint8_t* reasons
    const uint8_t* passed
    const uint8_t* alone       # rows that are written otherwise
    const uint8_t* lacked      # per column: no row has a field of its metric
    texts_t answers
    texts_t truths
    const offset_t* row_truths
    const offset_t* row_contexts


cdef struct ends_t:
    int64_t* items
    int64_t capacity
    int64_t n


cdef inline int add_end(ends_t* ends, int64_t end) noexcept nogil:
    """0, or -1 without memory."""
    if reserve(<void**> &ends.items, &ends.capacity, ends.n + 1, sizeof(int64_t)):
        return -1
    ends.items[ends.n] = end
    ends.n += 1
    return 0


cdef inline int find_ends(ends_t* ends, const Py_buffer* text) noexcept nogil:
    """Where each of some numbers ends, with a comma between them; 0, or -1 without memory."""
    cdef const uint8_t* bytes_ = <const uint8_t*> text.buf
    cdef int64_t at
    ends.n = 0
    for at in range(text.len):
        if bytes_[at] == b"," and add_end(ends, at):
            return -1
    return add_end(ends, text.len)


cdef inline void put_verdict(output_t* out, uint8_t verdict) noexcept nogil:
    if verdict == 1:
        put(out, b"true", 4)
    elif verdict == 0:
        put(out, b"false", 5)
    else:
        put(out, b"null", 4)


@cython.auto_pickle(False)
@cython.final
cdef class RowWriter:
    """Writes the rows of a block into memory of its own.

    Parameters
    ----------
    is_grounded : bool
        The profile; overlap otherwise.
    metrics : sequence of int
        The number of each column's metric.
    limits : sequence of float
        Of signals and of what is counted, as the words of the profile have them.
    add_form : callable
        ``(column, variant, reason)`` -> the JSON of the metric of a column around its values.
    add_signal : callable
        ``(kind)`` -> the JSON of signals of a kind around their values.
    phrases : sequence of tuple of bytes
        Those that are put into values, around their own.
    results : sequence of tuple of bytes
        What rows have in common, around the parts that they do not share: without, and with
        language, and refusal.
    languages, refusals : sequence of bytes
        As JSON, by number.
    details : bool
        With what scores of the grounded profile are made of.
    between : bytes
        Stands between rows.
    """
    cdef output_t out
    cdef ends_t row_ends
    cdef ends_t[3] number_ends
    cdef bint is_grounded
    cdef int64_t[N_COLUMNS] metrics
    cdef int64_t n_columns
    cdef grounded_facts_t grounded
    cdef overlap_facts_t overlap
    cdef grounded_limits_t grounded_limits
    cdef overlap_limits_t overlap_limits
    cdef object add_form, add_signal
    cdef bytes between
    cdef const char* between_bytes
    cdef int64_t between_size
    cdef bint has_details
    cdef int64_t results       # the first form of three
    cdef int64_t languages     # the first of as many as there are languages
    cdef int64_t refusals
    cdef text_t* samples
    cdef int64_t samples_capacity

    def __cinit__(self, bint is_grounded, metrics, limits, add_form, add_signal, phrases, results,
                  languages, refusals, bint details, bytes between):
        cdef int64_t i
        self.is_grounded, self.has_details = is_grounded, details and is_grounded
        self.n_columns = len(metrics)
        if self.n_columns > N_COLUMNS or len(limits) != (N_LIMITS if is_grounded else 6):
            raise ValueError("too many metrics, or other limits than those of the profile")
        for i in range(self.n_columns):
            self.metrics[i] = metrics[i]
        if is_grounded:
            self.grounded_limits.support, self.grounded_limits.relevance = limits[0], limits[1]
            for i in range(N_ALL_METRICS):
                self.grounded_limits.low[i] = limits[i + 2]
        else:
            self.overlap_limits = overlap_limits_t(
                limits[0], limits[1], limits[2], limits[3], limits[4], limits[5])
        self.add_form, self.add_signal, self.between = add_form, add_signal, between
        self.between_bytes = PyBytes_AS_STRING(between)
        self.between_size = PyBytes_GET_SIZE(between)
        for phrase in phrases:
            self.new_form(phrase)
        self.results = self.out.n_forms
        for result in results:
            self.new_form(result)
        self.languages = self.out.n_forms
        for language in languages:
            self.new_form((language,))
        self.refusals = self.out.n_forms
        for refusal in refusals:
            self.new_form((refusal,))
        self.forget_forms()

    def __dealloc__(self):
        cdef int i
        close_output(&self.out)
        close_facts(&self.grounded)
        free(self.row_ends.items)
        for i in range(3):
            free(self.number_ends[i].items)
        free(self.samples)

    cdef int64_t new_form(self, tuple pieces) except -1:
        """Note a form; returns its number."""
        cdef output_t* out = &self.out
        cdef int64_t n = len(pieces), begin
        if (reserve(<void**> &out.forms, &out.forms_capacity, out.n_forms + 1, sizeof(form_t))
                or reserve(<void**> &out.pieces, &out.pieces_capacity, out.n_pieces + n,
                           sizeof(span_t))):
            raise MemoryError("words of rows")
        out.forms[out.n_forms] = form_t(out.n_pieces, n)
        for piece in pieces:
            begin, n = out.words_size, PyBytes_GET_SIZE(piece)
            if reserve(<void**> &out.words, &out.words_capacity, begin + n, 1):
                raise MemoryError("words of rows")
            if n:
                memcpy(out.words + begin, PyBytes_AS_STRING(piece), <size_t> n)
            out.pieces[out.n_pieces] = span_t(begin, begin + n)
            out.words_size += n
            out.n_pieces += 1
        out.n_forms += 1
        return out.n_forms - 1

    def forget_forms(self):
        """The words of metrics are others from now on."""
        memset(self.out.metrics, 0xFF, sizeof(self.out.metrics))
        memset(self.out.signals, 0xFF, sizeof(self.out.signals))
        self.out.wanted.number = UNKNOWN

    def clear(self):
        """Forget the rows."""
        if self.out.capacity > KEPT_BYTES:
            free(self.out.bytes)
            self.out.bytes, self.out.capacity = NULL, 0
        self.out.size = self.row_ends.n = 0

    def add(self, bytes row):
        """A row that was written otherwise."""
        if self.row_ends.n:
            put(&self.out, self.between_bytes, self.between_size)
        put(&self.out, PyBytes_AS_STRING(row), PyBytes_GET_SIZE(row))
        if self.out.has_no_memory or add_end(&self.row_ends, self.out.size):
            raise MemoryError("writing a row")

    def rows(self):
        """Each row by itself."""
        cdef int64_t begin = 0, end, i
        found = []
        for i in range(self.row_ends.n):
            end = self.row_ends.items[i]
            found.append(PyBytes_FromStringAndSize(<char*> self.out.bytes + begin, end - begin))
            begin = end + self.between_size
        return found

    def write_to(self, write):
        """Pass all rows on, with what stands between them; nothing where there are none."""
        if self.row_ends.n:
            write(PyMemoryView_FromMemory(<char*> self.out.bytes, self.out.size, PyBUF_READ))

    def fill(self, list samples, tuple arrays, alone):
        """Add the rows of a block; ``alone`` gives one that is written otherwise.

        ``samples`` are JSON. The arrays hold what kernels kept of R rows: numbers, values, texts
        and where each row begins in them; as JSON, with commas between them, the scores, the
        composite scores and, with details, the values; verdicts, 2 for none, and null reasons of
        scores; whether a row passed; whether it is written otherwise; for each column whether no
        row has a field of its metric; bytes and offsets of answers and of ground truths; where
        ground truths of rows begin, for the grounded profile; and where contexts of rows begin.
        """
        cdef Py_buffer[N_ARRAYS] views
        cdef block_t block
        cdef int n_views = 0
        if len(arrays) != N_ARRAYS:
            raise ValueError("a block has another number of arrays")
        try:
            for array in arrays:
                PyObject_GetBuffer(array, &views[n_views], PyBUF_SIMPLE)
                n_views += 1
            self.open_block(&block, samples, views)
            self.put_block(&block, alone)
        finally:
            while n_views:
                n_views -= 1
                PyBuffer_Release(&views[n_views])

    cdef int open_block(self, block_t* block, list samples, const Py_buffer* views) except -1:
        cdef int64_t n = len(samples), i
        if (views[3].len != 24 * n or views[7].len != n * self.n_columns
                or views[8].len != n * self.n_columns or views[9].len != n or views[10].len != n
                or views[11].len != self.n_columns):
            raise ValueError("arrays of a block are not of its rows")
        if (reserve(<void**> &self.samples, &self.samples_capacity, n, sizeof(text_t))
                or find_ends(&self.number_ends[0], &views[4])
                or find_ends(&self.number_ends[1], &views[5])
                or find_ends(&self.number_ends[2], &views[6])):
            raise MemoryError("writing rows")
        for i in range(n):
            sample = samples[i]
            self.samples[i] = text_t(NULL, 0)
            if sample is not None:
                self.samples[i] = text_t(<const uint8_t*> PyBytes_AS_STRING(sample),
                                         PyBytes_GET_SIZE(sample))
        block.n_rows, block.samples = n, self.samples
        open_kept(&block.kept, <const int64_t*> views[0].buf, <const double*> views[1].buf,
                  <const uint8_t*> views[2].buf)
        block.rows = <const int64_t*> views[3].buf
        block.scores = numbers_t(<const uint8_t*> views[4].buf, self.number_ends[0].items)
        block.composites = numbers_t(<const uint8_t*> views[5].buf, self.number_ends[1].items)
        block.values = numbers_t(<const uint8_t*> views[6].buf, self.number_ends[2].items)
        block.verdicts, block.reasons = <const uint8_t*> views[7].buf, <const uint8_t*> views[8].buf
        block.passed, block.alone = <const uint8_t*> views[9].buf, <const uint8_t*> views[10].buf
        block.lacked = <const uint8_t*> views[11].buf
        block.answers = texts_t(<const uint8_t*> views[12].buf, <const offset_t*> views[13].buf)
        block.truths = texts_t(<const uint8_t*> views[14].buf, <const offset_t*> views[15].buf)
        block.row_truths = <const offset_t*> views[16].buf
        block.row_contexts = <const offset_t*> views[17].buf
        return 0

    cdef int put_block(self, block_t* block, alone) except -1:
        cdef int64_t row = 0
        while True:
            with nogil:
                row = self.put_rows(block, row)
            if self.out.has_no_memory:
                raise MemoryError("writing a row")
            if self.out.has_misfit:
                raise ValueError("words have not as many places as there are values")
            if self.out.wanted.number != UNKNOWN:
                self.add_wanted()
            elif row == block.n_rows:
                return 0
            else:
                self.add(alone(row))
                row += 1

    cdef int add_wanted(self) except -1:
        """Words that a row has for the first time."""
        cdef int64_t column = self.out.wanted.column, number = self.out.wanted.number
        cdef int64_t reason = self.out.wanted.reason
        self.out.wanted.number = UNKNOWN
        if column == UNKNOWN:
            self.out.signals[number] = self.new_form(self.add_signal(number))
        else:
            self.out.metrics[column][number][reason] = self.new_form(
                self.add_form(column, number, reason))
        return 0

    cdef int64_t put_rows(self, block_t* block, int64_t row) noexcept nogil:
        """Write rows from one on, up to the first for which something else is needed."""
        cdef output_t* out = &self.out
        cdef int64_t before
        while row < block.n_rows and not block.alone[row]:
            before = out.size
            if self.row_ends.n:
                put(out, self.between_bytes, self.between_size)
            self.put_row(block, row)
            if out.has_no_memory or out.has_misfit or out.wanted.number != UNKNOWN:
                out.size = before
                break
            if add_end(&self.row_ends, out.size):
                out.has_no_memory = True
                break
            row += 1
        return row

    cdef void put_row(self, block_t* block, int64_t row) noexcept nogil:
        cdef output_t* out = &self.out
        cdef int64_t column, more = 0
        seek_row(&block.kept, block.rows + 3 * row)
        self.read_facts(block, row)
        if self.has_details:
            more = 2 if self.grounded.is_refusal else 1
        begin_form(out, self.results + more)
        put(out, block.samples[row].bytes, block.samples[row].size)
        put_piece(out)
        for column in range(self.n_columns):
            if column:
                put_byte(out, b",")
            self.put_metric(block, row, column)
        out.form, out.piece = self.results + more, 2
        put_piece(out)
        put_numbers(out, &block.composites, row, 1)
        put_piece(out)
        put_verdict(out, block.passed[row])
        put_piece(out)
        if more:
            put_phrase(out, self.languages + self.grounded.language, 0)
            put_piece(out)
        if more > 1:
            put_phrase(out, self.refusals + 2 * self.grounded.only_refuses
                       + self.grounded.answerable, 0)
            put_piece(out)
        end_values(out, 0)

    cdef void read_facts(self, block_t* block, int64_t row) noexcept nogil:
        cdef int64_t n_contexts = block.row_contexts[row + 1] - block.row_contexts[row]
        cdef text_t answer = text_at(&block.answers, row)
        if not self.is_grounded:
            read_overlap(&self.overlap, &block.kept)
            self.overlap.answer = answer
            self.overlap.n_contexts = n_contexts
            self.overlap.has_truth = text_at(&block.truths, row).size > 0
            return
        if read_grounded(&self.grounded, &block.kept):
            self.out.has_no_memory = True
        self.grounded.answer_text = answer
        self.grounded.n_chunks = n_contexts
        self.grounded.n_truths = block.row_truths[row + 1] - block.row_truths[row]
        if self.grounded.best_truth >= 0:
            self.grounded.truth_text = text_at(
                &block.truths, block.row_truths[row] + self.grounded.best_truth)

    cdef void put_metric(self, block_t* block, int64_t row, int64_t column) noexcept nogil:
        cdef output_t* out = &self.out
        cdef int64_t place = row * self.n_columns + column, metric = self.metrics[column]
        cdef int64_t variant = self.variant(block, column), form
        begin_metric(out, column, variant, block.reasons[place])
        form = out.form
        put_numbers(out, &block.scores, place, 1)
        put_piece(out)
        put_verdict(out, block.verdicts[place])
        put_piece(out)
        if self.is_grounded:
            put_grounded_values(out, &self.grounded, metric, &self.grounded_limits)
        elif variant == PLAIN:
            put_overlap_values(out, &self.overlap, metric, &self.overlap_limits)
        else:
            end_values(out, 1)
        out.form = form
        if form != UNKNOWN:
            out.piece = out.forms[form].n_pieces - 1
        put_piece(out)
        if self.has_details:
            put_details(out, &self.grounded, &block.values, metric)
        put_byte(out, b"}")

    cdef int64_t variant(self, const block_t* block, int64_t column) noexcept nogil:
        """Which of the words of a column's metric are said of the row."""
        if self.is_grounded:
            return grounded_variant(&self.grounded, self.metrics[column], &self.grounded_limits)
        if block.lacked[column]:
            return LACKED_BY_ALL
        return overlap_variant(&self.overlap, self.metrics[column])
