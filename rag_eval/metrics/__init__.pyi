from rag_eval.metrics.contract import Metric as Metric
from rag_eval.metrics.contract import Scored as Scored
from rag_eval.metrics.contract import Scorer as Scorer
from rag_eval.metrics.own import metric as metric
from rag_eval.metrics.registry import register as register
from rag_eval.metrics.registry import unregister as unregister
