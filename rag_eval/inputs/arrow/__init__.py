"""Arrow data of any library -> blocks of rows, in place where its buffers allow."""
