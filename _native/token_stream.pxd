"""UTF-8 text -> lower-cased bytes, and where tokens begin and end in them."""
from libc.string cimport memcpy

from code_points cimport (
    CODE_POINT_LOWERS, CODE_POINT_SEPARATOR, code_point_flags, decode_code_point, write_lower,
)
from primitives cimport int64_t, load_8_bytes, reserve, uint8_t, uint32_t, uint64_t

cdef extern from "byte_blocks.h" nogil:
    int BLOCK_BYTES
    ctypedef int (*block_cutter_t)(
        const uint8_t*, int, uint8_t*, int64_t, uint64_t*, int64_t*, int*) noexcept nogil
    block_cutter_t best_block_cutter() noexcept

cdef enum:
    CHUNK_BYTES = 512      # text cut before its tokens are numbered
    # A chunk ends with the block that reaches CHUNK_BYTES, and may begin within a token: at most
    # 512 + 63 + 3 bytes, a place per byte, one open from before, one closed at the end, and what a
    # block may write past its own.
    CHUNK_EDGES = 680
    LOWERED_MARGIN = 80    # a whole block may be stored past the end, and words loaded past it


cdef struct lowered_t:
    uint8_t* bytes     # lower-cased text of everything cut so far, separators included
    int64_t capacity
    int64_t size


cdef struct cutter_t:
    const uint8_t* text
    int64_t size
    int64_t at             # next byte to cut
    uint64_t inside        # the byte before ``at`` belongs to a token
    block_cutter_t cut_block
    int64_t n_edges        # written so far for the chunk at hand
    int64_t edges[CHUNK_EDGES]  # places in the lowered bytes: a token's begin, its end, in turn


cdef inline int begin_text(cutter_t* cutter, lowered_t* lowered, const uint8_t* text,
                           int64_t size) noexcept nogil:
    """Aim the cutter at a text and make room for its lowered bytes; 0, or -1 without memory.

    Lower-casing turns two bytes into three at most (U+0130, U+023A, U+023E).
    """
    cutter.text = text
    cutter.size = size
    cutter.at = 0
    cutter.inside = 0
    cutter.n_edges = 0
    return reserve(<void**> &lowered.bytes, &lowered.capacity,
                   lowered.size + size + size // 2 + LOWERED_MARGIN, 1)


cdef inline void add_edge(cutter_t* cutter, int64_t place) noexcept nogil:
    cutter.edges[cutter.n_edges] = place
    cutter.n_edges += 1
    cutter.inside ^= 1


cdef inline bint ascii_resumes(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """Eight bytes of ASCII follow: cutting by blocks pays again."""
    return size - at >= 8 and not load_8_bytes(text + at) & <uint64_t> 0x8080808080808080


cdef inline void cut_code_points(cutter_t* cutter, lowered_t* lowered,
                                 int64_t until) noexcept nogil:
    """Cut code point by code point, until byte ``until`` or until a run of ASCII begins."""
    cdef const uint8_t* text = cutter.text
    cdef uint8_t* out = lowered.bytes + lowered.size
    cdef int64_t at = cutter.at, size = cutter.size
    cdef uint32_t code_point
    cdef uint8_t flags
    cdef int width, i
    while at < until:
        if text[at] < 0x80 and ascii_resumes(text, size, at):
            break
        code_point = decode_code_point(text, size, at, &width)
        flags = code_point_flags(code_point)
        if (flags & CODE_POINT_SEPARATOR != 0) == cutter.inside:
            add_edge(cutter, out - lowered.bytes)
        if flags & CODE_POINT_LOWERS:
            out += write_lower(text, size, at, width, code_point, out)
        else:
            # Four bytes at once where the text has them; the margin takes the surplus.
            if size - at >= 4:
                memcpy(out, text + at, 4)
            else:
                for i in range(width):
                    out[i] = text[at + i]
            out += width
        at += width
    cutter.at = at
    lowered.size = out - lowered.bytes


cdef inline Py_ssize_t cut_chunk(cutter_t* cutter, lowered_t* lowered) noexcept nogil:
    """Cut the next chunk of the text; the number of tokens that ended in it, by their edges.

    Runs of ASCII are lower-cased and classified up to 64 bytes at a time, the rest code point by
    code point. The end of the text closes a token that is still open.
    """
    cdef int64_t stop = min(cutter.size, cutter.at + CHUNK_BYTES), left
    cdef int n_bytes, n_cut
    cdef uint8_t padded[64]
    cdef const uint8_t* block
    # A token left open by the chunk before: its begin is that chunk's last edge.
    cutter.edges[0] = cutter.edges[cutter.n_edges - cutter.inside]
    cutter.n_edges = cutter.inside
    while cutter.at < stop:
        left = cutter.size - cutter.at
        block = cutter.text + cutter.at
        n_bytes = BLOCK_BYTES
        if left < BLOCK_BYTES:
            n_bytes = <int> left
            memcpy(padded, block, <size_t> left)
            block = padded
        cutter.n_edges += cutter.cut_block(
            block, n_bytes, lowered.bytes + lowered.size, lowered.size, &cutter.inside,
            cutter.edges + cutter.n_edges, &n_cut)
        cutter.at += n_cut
        lowered.size += n_cut
        if n_cut < n_bytes:
            cut_code_points(cutter, lowered, cutter.at + n_bytes - n_cut)
    if cutter.at == cutter.size and cutter.inside:
        add_edge(cutter, lowered.size)
    return cutter.n_edges // 2
