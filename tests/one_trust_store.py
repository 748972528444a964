"""Once imported, HTTP clients of this process share the context of TLS that the first one made.

To read the certificates of the system takes longer than most calls of a judge, of whose servers
none here uses TLS.
"""

from __future__ import annotations

from functools import cache

import httpcore2

vars(httpcore2)["default_ssl_context"] = cache(httpcore2.default_ssl_context)
httpcore2.default_ssl_context(_trust_env=False)  # that of servers on this machine
