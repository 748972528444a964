"""The natural logarithm of a ratio, by operations that round alike on every machine.

The C library picks its own by processor, and its last bit with it.
"""

cdef extern from *:
    """
    #include <string.h>

    /* x must be finite, normal and above 0. x = m 2^e with m from sqrt(1/2) to sqrt(2), and
       ln m = 2 artanh s with s = (m - 1) / (m + 1), below 0.172: the series ends at s^21. */
    static inline double natural_log(double x) {
        uint64_t bits;
        int64_t exponent;
        double m, s, square, sum;
        memcpy(&bits, &x, 8);
        exponent = (int64_t)(bits >> 52) - 1022;
        bits = (bits & 0x000fffffffffffffu) | 0x3fe0000000000000u;
        memcpy(&m, &bits, 8);
        if (m < 0.70710678118654752440) {
            m *= 2;
            exponent--;
        }
        s = (m - 1) / (m + 1);
        square = s * s;
        sum = 1.0 / 21;
        for (int odd = 19; odd >= 3; odd -= 2) sum = sum * square + 1.0 / odd;
        sum = 2 * s + 2 * s * square * sum;
        /* ln 2 in two parts, the first exact in its product with any exponent. */
        return (double)exponent * 6.93147180369123816490e-01 +
               (sum + (double)exponent * 1.90821492927058770002e-10);
    }
    """
    double natural_log(double x) noexcept nogil
